import type { Unacknowledged } from "@quicrpc/core/transport";
import type { ServerDrainOptions, ServerStats } from "../server.js";

/** A worker's environment says in this variable which place of its group it has, as JSON. */
export const PLACE_VARIABLE = "QUICRPC_WORKER";
/** A worker's first descriptor that is a socket of its group: before it are stdin, stdout, stderr and the channel. */
export const FIRST_SOCKET = 4;

/** A worker's place in its group. */
export interface Place {
  readonly place: number;
  /** The UDP ports of the group: so many descriptors, from `FIRST_SOCKET` on, are the worker's sockets. */
  readonly ports: number;
}

/** A message of a worker to its primary. */
export type FromWorker =
  | { readonly quicrpc: "join" }
  | { readonly quicrpc: "ready"; readonly urls: readonly string[] }
  | { readonly quicrpc: "failed"; readonly error: ToldError }
  | { readonly quicrpc: "leaving" }
  | { readonly quicrpc: "stats"; readonly stats: ServerStats }
  | { readonly quicrpc: "topic"; readonly id: number; readonly name: string; readonly subscribed: boolean }
  | { readonly quicrpc: "publish"; readonly id: number; readonly name: string; readonly bytes: string }
  | ({ readonly quicrpc: "over" } & Unacknowledged);

/** A message of the primary to a worker. */
export type ToWorker =
  | { readonly quicrpc: "joined"; readonly ticketKey: string }
  | { readonly quicrpc: "topicDone"; readonly id: number }
  | { readonly quicrpc: "topicMessage"; readonly name: string; readonly bytes: string }
  | { readonly quicrpc: "topicsInterrupted" }
  | { readonly quicrpc: "drain"; readonly timeoutMs: number; readonly options: ServerDrainOptions }
  | { readonly quicrpc: "close"; readonly closeCode: number | undefined; readonly reason: string | undefined };

/** An error between processes. */
export interface ToldError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly url: string | undefined;
  readonly hint: string | undefined;
}
