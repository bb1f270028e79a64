import type { AddressInfo } from "node:net";
import type { Unacknowledged } from "@quicrpc/core/internal";
import type { GroupMember } from "@quicrpc/quic";
import type { PassedSocket } from "../listen/systemd.js";
import type { ServerDrainOptions, ServerStats } from "../server.js";

/** Environment variable that marks a process as a worker of `serve({ workers })`. */
export const WORKER_VARIABLE = "QUICRPC_WORKER";
/**
 * Number of the first file descriptor in a worker that is a socket of its group. Lower numbers are stdin, stdout,
 * stderr and the IPC channel.
 */
export const FIRST_SOCKET = 4;

/**
 * Environment variable for workers of `shareUdpPorts`. It contains the id of the process that forked them and shares
 * its UDP ports.
 */
export const SHARED_VARIABLE = "QUICRPC_SHARED_PORTS";

/** Sockets and keys of a group that the primary sends to each worker. */
export interface WorkerShare {
  /** One socket for each UDP port, in the order of the listeners. Descriptors are valid in the worker. */
  readonly members: readonly GroupMember[];
  /** Key with which the workers resume each other's QUIC sessions, in base64. */
  readonly ticketKey: string;
  /** Sockets that systemd passed to the primary process. Undefined if the server does not listen on such sockets. */
  readonly passed: readonly PassedSocket[] | undefined;
  /** Passed sockets whose connections the primary accepts and hands to its workers. */
  readonly streams: readonly PassedStream[];
}

export interface PassedStream {
  /** File descriptor in the primary process. */
  readonly descriptor: number;
  readonly address: AddressInfo | string | null;
}

/** Sockets and keys that a program shares with workers that it forks itself (`shareUdpPorts`). */
export interface PortShare extends WorkerShare {
  readonly ports: PortDescription;
}

/** Description of UDP ports as text. The primary and its workers compare it to check that they use the same ports. */
export interface PortDescription {
  readonly urls: readonly string[];
  /** Options of the QUIC connection ids. */
  readonly ids: string;
}

export type FromWorker =
  | { readonly quicrpc: "join" }
  | { readonly quicrpc: "share" }
  | { readonly quicrpc: "ready"; readonly urls: readonly string[] }
  | { readonly quicrpc: "failed"; readonly error: ErrorDescription }
  | { readonly quicrpc: "leaving" }
  | { readonly quicrpc: "stats"; readonly stats: ServerStats }
  | { readonly quicrpc: "topic"; readonly id: number; readonly name: string; readonly subscribed: boolean }
  | { readonly quicrpc: "publish"; readonly id: number; readonly name: string; readonly bytes: string }
  | ({ readonly quicrpc: "over" } & Unacknowledged);

export type ToWorker =
  | { readonly quicrpc: "joined"; readonly share: WorkerShare }
  | { readonly quicrpc: "shared"; readonly share: PortShare }
  /** The primary does not share its ports with this worker, for this reason. */
  | { readonly quicrpc: "unshared"; readonly reason: string }
  /** Passes a connection that the primary accepted on the listening socket with this descriptor. */
  | { readonly quicrpc: "connection"; readonly descriptor: number }
  | { readonly quicrpc: "topicDone"; readonly id: number }
  | { readonly quicrpc: "topicMessage"; readonly name: string; readonly bytes: string }
  | { readonly quicrpc: "topicsInterrupted" }
  | { readonly quicrpc: "drain"; readonly timeoutMs: number; readonly options: ServerDrainOptions }
  | { readonly quicrpc: "close"; readonly closeCode: number | undefined; readonly reason: string | undefined };

/** An error in the form in which it is sent between processes. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly url: string | undefined;
  readonly hint: string | undefined;
}
