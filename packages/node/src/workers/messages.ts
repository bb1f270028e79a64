import type { AddressInfo } from "node:net";
import type { Unacknowledged } from "@quicrpc/core/transport";
import type { GroupMember } from "@quicrpc/quic";
import type { PassedSocket } from "../listen/systemd.js";
import type { ServerDrainOptions, ServerStats } from "../server.js";

/** A worker's environment says in this variable that it is one. */
export const WORKER_VARIABLE = "QUICRPC_WORKER";
/** A worker's first descriptor that is a socket of its group: before it are stdin, stdout, stderr and the channel. */
export const FIRST_SOCKET = 4;

/** The environment of workers says in this variable which process forked them by itself and shares its UDP ports: its process id. */
export const SHARED_VARIABLE = "QUICRPC_SHARED_PORTS";

/** Settings that a worker shares with its group. */
export interface WorkerShare {
  /** Its places: one for each UDP port, in the order of what `serve` listens on. Descriptors are the worker's own. */
  readonly members: readonly GroupMember[];
  /** Key by which each worker resumes the sessions of all; base64. */
  readonly ticketKey: string;
  /** The sockets that systemd has passed to the primary, if `serve` listens on such. */
  readonly passed: readonly PassedSocket[] | undefined;
  /** Those of them whose connections the primary hands on, and where they listen. */
  readonly streams: readonly PassedStream[];
}

/** A socket for connections that was passed to the primary. */
export interface PassedStream {
  /** The descriptor of the primary. */
  readonly descriptor: number;
  readonly address: AddressInfo | string | null;
}

/** Parts that the workers share of a program that forks them itself. */
export interface PortShare extends WorkerShare {
  /** The ports that the primary has bound. */
  readonly ports: PortDescription;
}

/** UDP ports as text, by which a primary and its workers find that they mean the same. */
export interface PortDescription {
  readonly urls: readonly string[];
  /** The options of their connection ids. */
  readonly ids: string;
}

/** A message of a worker to its primary. */
export type FromWorker =
  | { readonly quicrpc: "join" }
  | { readonly quicrpc: "share" }
  | { readonly quicrpc: "ready"; readonly urls: readonly string[] }
  | { readonly quicrpc: "failed"; readonly error: ToldError }
  | { readonly quicrpc: "leaving" }
  | { readonly quicrpc: "stats"; readonly stats: ServerStats }
  | { readonly quicrpc: "topic"; readonly id: number; readonly name: string; readonly subscribed: boolean }
  | { readonly quicrpc: "publish"; readonly id: number; readonly name: string; readonly bytes: string }
  | ({ readonly quicrpc: "over" } & Unacknowledged);

/** A message of the primary to a worker. */
export type ToWorker =
  | { readonly quicrpc: "joined"; readonly share: WorkerShare }
  | { readonly quicrpc: "shared"; readonly share: PortShare }
  /** It can share nothing with this worker. */
  | { readonly quicrpc: "unshared"; readonly reason: string }
  /** With a connection that the primary has accepted from the socket of this descriptor. */
  | { readonly quicrpc: "connection"; readonly descriptor: number }
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
