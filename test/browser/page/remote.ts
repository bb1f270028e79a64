import type { Limits } from "@quicrpc/core";

/** A server that one pair of sessions has for itself. */
interface RemoteServer {
  readonly id: number;
  readonly url: string;
  readonly hash: readonly number[];
}

/** What its handlers have done since the page last asked. */
export interface Seen {
  readonly events: readonly string[];
  readonly errors: readonly { error: { message: string }; method: string }[];
}

/** What the page asks of the test that opened it. */
export interface Remote {
  start(limits: Partial<Limits>): Promise<RemoteServer>;
  /** Waits until there is something to tell; undefined when the server is closed. */
  seen(id: number, events: number): Promise<Seen | undefined>;
  release(id: number, name: string): Promise<void>;
  /** Does something with the server's session. */
  session(id: number, what: string, ...given: unknown[]): Promise<unknown>;
  stop(id: number): Promise<void>;
}

/** What became of the tests of a file. */
export interface Outcome {
  readonly passed: readonly string[];
  /** Name and reason. */
  readonly skipped: readonly string[];
  /** Name and stack. */
  readonly failed: readonly string[];
}
