/** Name of the variable by which a program's process knows that `quicrpc dev` started it: that one's process id. */
export const DEV_VARIABLE = "QUICRPC_DEV";

/** Messages of the program's process to `quicrpc dev`: a server of it listens. */
export interface Listening {
  readonly quicrpc: "listening";
  readonly urls: readonly string[];
}

/** Messages to the program's process: drain all servers, and end. */
export interface Drain {
  readonly quicrpc: "drain";
  readonly timeoutMs: number;
}
