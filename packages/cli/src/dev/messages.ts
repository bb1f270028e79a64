/** Environment variable with the process id of `quicrpc dev`, set in the processes that it starts. */
export const DEV_VARIABLE = "QUICRPC_DEV";

/** Message from the program to `quicrpc dev`: a server has started to listen. */
export interface Listening {
  readonly quicrpc: "listening";
  readonly urls: readonly string[];
}

/** Message from the program to `quicrpc dev`: a server could not start, because its address is in use. */
export interface AddressTaken {
  readonly quicrpc: "addressTaken";
  readonly message: string;
}

/** Message from `quicrpc dev` to the program: drain all servers and exit. */
export interface DrainMessage {
  readonly quicrpc: "drain";
  readonly timeoutMs: number;
}
