import type { AddressInfo } from "node:net";
import type { Unacknowledged } from "@quicrpc/core/internal";
import type { GroupMember } from "@quicrpc/quic";
import type { PassedSocket } from "../listen/systemd.js";
import type { ServerDrainOptions, ServerStats } from "../server.js";

/** Environment variable that marks a process as a worker. */
export const WORKER_VARIABLE = "QUICRPC_WORKER";
/** First descriptor of a worker that is a socket of its group, after stdin, stdout, stderr and the channel. */
export const FIRST_SOCKET = 4;

/** Environment variable with the id of the process that forked workers itself and shares its UDP ports with them. */
export const SHARED_VARIABLE = "QUICRPC_SHARED_PORTS";

/** The group's state that a worker receives. */
export interface WorkerShare {
  /** One place for each UDP port, in the order of the listeners. Descriptors are those in the worker. */
  readonly members: readonly GroupMember[];
  /** Base64 of the key with which the workers resume each other's sessions. */
  readonly ticketKey: string;
  /** Sockets that systemd passed to the primary, if `serve` listens on such. */
  readonly passed: readonly PassedSocket[] | undefined;
  /** Passed sockets whose connections the primary accepts and hands to workers, with their addresses. */
  readonly streams: readonly PassedStream[];
}

/** A listening socket that was passed to the primary. */
export interface PassedStream {
  /** Descriptor in the primary. */
  readonly descriptor: number;
  readonly address: AddressInfo | string | null;
}

/** State that a program shares with workers that it forks itself. */
export interface PortShare extends WorkerShare {
  /** Ports bound by the primary. */
  readonly ports: PortDescription;
}

/** Text form of UDP ports, with which a primary and its workers check that they mean the same ports. */
export interface PortDescription {
  readonly urls: readonly string[];
  /** Options of the connection ids. */
  readonly ids: string;
}

/** A message from a worker to its primary. */
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

/** A message from the primary to a worker. */
export type ToWorker =
  | { readonly quicrpc: "joined"; readonly share: WorkerShare }
  | { readonly quicrpc: "shared"; readonly share: PortShare }
  /** The primary cannot share anything with this worker. */
  | { readonly quicrpc: "unshared"; readonly reason: string }
  /** Passes a connection that the primary accepted on the socket with this descriptor. */
  | { readonly quicrpc: "connection"; readonly descriptor: number }
  | { readonly quicrpc: "topicDone"; readonly id: number }
  | { readonly quicrpc: "topicMessage"; readonly name: string; readonly bytes: string }
  | { readonly quicrpc: "topicsInterrupted" }
  | { readonly quicrpc: "drain"; readonly timeoutMs: number; readonly options: ServerDrainOptions }
  | { readonly quicrpc: "close"; readonly closeCode: number | undefined; readonly reason: string | undefined };

/** An error, serialised between processes. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly url: string | undefined;
  readonly hint: string | undefined;
}
