import type { Limits } from "@quicrpc/core";

/**
 * How the page connects: by `connect`, over either transport (and over WebTransport in Firefox), by `connectWebTransport`, by the
 * ponyfill, or without connection.
 */
export type Lane =
  | "webtransport"
  | "firefox"
  | "websocket"
  | "connectWebTransport"
  | "ponyfill"
  | "createStreamSession";

/** A server that one pair of sessions has for itself. */
interface RemoteServer {
  readonly id: number;
  readonly url: string;
  readonly hash: readonly number[];
}

/** Events and errors of the server's handlers since the page last asked. */
export interface Seen {
  readonly events: readonly string[];
  readonly errors: readonly { error: { message: string }; method: string }[];
}

/** Answer of the server's session. */
export interface Answered {
  readonly value: unknown;
  /** How many events its handlers had seen by then. */
  readonly events: number;
}

/** A path at which both ends of a session may dial. */
export interface Meeting {
  /** Without a path. */
  readonly webTransport: string;
  readonly webSocket: string;
  readonly hash: readonly number[];
}

/** Functions of the test that the page in it calls. */
export interface Remote {
  /** @param maxStreams that the page may open at once, unless it is the transport's own number */
  start(limits: Partial<Limits>, maxStreams?: number): Promise<RemoteServer>;
  /** Waits until there is something to tell; undefined when the server is closed. */
  seen(id: number, events: number): Promise<Seen | undefined>;
  release(id: number, name: string): Promise<void>;
  /** Does something with the server's session. */
  session(id: number, what: string, ...given: unknown[]): Promise<Answered>;
  stop(id: number): Promise<void>;
  meet(): Promise<Meeting>;
}

/** Outcome of a file's tests. */
export interface Outcome {
  readonly passed: readonly string[];
  /** Name and reason. */
  readonly skipped: readonly (readonly [string, string])[];
  /** Name and stack. */
  readonly failed: readonly (readonly [string, string])[];
}
