/** Environment variable with the process id of `quicrpc dev`, set for processes that it starts. */
export const DEV_VARIABLE = "QUICRPC_DEV";

/** Message from the program to `quicrpc dev`: a server listens. */
export interface Listening {
  readonly quicrpc: "listening";
  readonly urls: readonly string[];
}

/** Message from the program to `quicrpc dev`: it fails, because an address is in use. */
export interface AddressTaken {
  readonly quicrpc: "addressTaken";
  readonly message: string;
}

/** Message to the program: drain all servers and exit. */
export interface DrainMessage {
  readonly quicrpc: "drain";
  readonly timeoutMs: number;
}
