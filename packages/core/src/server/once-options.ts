import type { OptionNames } from "../check-options.js";
import type { CallContext } from "./context.js";

/** A server's request to a store when a call of a method that is `once` arrives. */
export interface OnceClaim {
  /** The principal of the key. Stores may limit what each principal makes them keep. */
  readonly principal: string;
  /** Creation time of the key, in milliseconds since the epoch by the caller's clock. */
  readonly madeAt: number;
  /** Whether the caller has certainly made no earlier call with the key. */
  readonly first: boolean;
  /** Whether the call may run if the store has no entry under its id. */
  readonly startable: boolean;
  /** Distinguishes inputs; undefined if they cannot be compared. */
  readonly fingerprint: string | undefined;
  /** Identifies the runner of the call: a text that no other claim has. */
  readonly owner: string;
  /** Milliseconds for which the claim holds without renewal. */
  readonly leaseMs: number;
  /** Minimum milliseconds for which the entry is kept from now on. */
  readonly keepMs: number;
}

/**
 * The state of an id. "absent": unknown, and nothing was stored. "forgotten": unknown, but the store may have lost it.
 * "claimed": it was unknown, and the requesting owner now runs the call. "running": an owner runs it. "lost": the
 * owner's lease has expired, so it is unknown whether the call took effect. "done": it has ended, with `record`.
 */
export type OnceState =
  | { readonly state: "absent" | "forgotten" | "claimed" }
  | { readonly state: "running" | "lost"; readonly fingerprint: string | undefined }
  | { readonly state: "done"; readonly fingerprint: string | undefined; readonly record: Uint8Array };

/**
 * Remembers which calls are running and the results of those that have ended. Every method is atomic: of concurrent
 * claims of one id, exactly one returns "claimed". A method rejects if the store cannot be reached; its action may have
 * taken place nevertheless. The tests' `onceStoreContract` specifies the details.
 */
export interface OnceStore {
  /** Claims the id for an owner if it is unknown; otherwise returns its state. */
  claim(id: string, claim: OnceClaim): Promise<OnceState>;
  /** Returns the state of an id. */
  find(id: string): Promise<OnceState>;
  /** Extends the owner's claim to `leaseMs` from now. Returns true if the claim is the owner's and is not settled. */
  renew(id: string, owner: string, leaseMs: number): Promise<boolean>;
  /**
   * Records the end of the owner's call, even if its lease has lapsed. Returns true if the claim was the owner's and
   * was not settled.
   */
  settle(id: string, owner: string, record: Uint8Array): Promise<boolean>;
  /** Removes the owner's claim, because nothing ran. */
  release(id: string, owner: string): Promise<void>;
}

/** Settings of calls of `once` methods. */
export interface OnceOptions<Context = unknown> {
  /** Store for the results of calls. Default: `MemoryOnceStore`, in this process's memory. */
  readonly store?: OnceStore;
  /**
   * Returns the principal of a call; the same key of another principal is a different key. Default:
   * `context.connection` if it is a string, and one principal for all clients if there is no connection value. With any
   * other connection value, calls fail until this option is set.
   */
  readonly principal?: (context: CallContext<Context>) => string;
  /** Milliseconds for which the result of a call is kept, and its key may be used. Default: a day. */
  readonly recordForMs?: number;
  /** Milliseconds after which a call counts as lost if its process has ended. The lease is renewed while the call runs. Default: 10,000. */
  readonly leaseMs?: number;
  /**
   * Most bytes of a response that is kept. A larger one is not kept: a repeated call is only told that the first one
   * succeeded. Default: 256 KiB.
   */
  readonly maxRecordBytes?: number;
}

/** Names of these settings. */
export const ONCE_OPTIONS: OptionNames<OnceOptions> = {
  leaseMs: true,
  maxRecordBytes: true,
  principal: true,
  recordForMs: true,
  store: true,
};

/** The options, together with the time at which the server received them. */
export interface OnceSettings {
  readonly options: OnceOptions<never>;
  /** Time at which the server started: calls with older keys may have run in an earlier process. */
  readonly since: number;
}

const settings: WeakMap<OnceOptions<never>, OnceSettings> = new WeakMap();

/** Returns the settings for `options`: the same for all servers and sessions that are given the same object. */
export function onceSettings(options: OnceOptions<never> | undefined): OnceSettings | undefined {
  if (options === undefined) return undefined;
  let own = settings.get(options);
  if (own === undefined) settings.set(options, (own = { options, since: Date.now() }));
  return own;
}
