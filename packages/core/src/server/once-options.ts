import type { OptionNames } from "../check-options.js";
import type { CallContext } from "./context.js";

/** Data that a server passes to a `OnceStore` when a call of a `once` method arrives. */
export interface OnceClaim {
  /** Principal (user or client) of the call. A store may limit the number of entries of each principal. */
  readonly principal: string;
  /** Creation time of the key, in milliseconds since the Unix epoch by the caller's clock. */
  readonly madeAt: number;
  /** True if the caller is certain that it has made no earlier call with this key. */
  readonly first: boolean;
  /** Whether the call may run if the store has no entry for its id. */
  readonly startable: boolean;
  /**
   * Hash of the call's input, to detect a key that is reused with another input; undefined if inputs cannot be
   * compared.
   */
  readonly fingerprint: string | undefined;
  /** Unique id of this claim, which identifies the server that runs the call. */
  readonly owner: string;
  /** Time in milliseconds after which the claim expires if it is not renewed. */
  readonly leaseMs: number;
  /** Minimum time for which the store keeps the entry, in milliseconds from now. */
  readonly keepMs: number;
}

/**
 * State of a call of a `once` method in the store. "absent": no entry exists. "forgotten": no entry exists, but the
 * store may have lost one. "claimed": no entry existed, and the requesting server now runs the call. "running": a
 * server runs the call. "lost": the claim of that server has expired, so it is unknown whether the call took effect.
 * "done": the call has ended, with the result `record`.
 */
export type OnceState =
  | { readonly state: "absent" | "forgotten" | "claimed" }
  | { readonly state: "running" | "lost"; readonly fingerprint: string | undefined }
  | { readonly state: "done"; readonly fingerprint: string | undefined; readonly record: Uint8Array };

/**
 * Stores which calls of `once` methods are running, and the results of those that have ended. Every method is atomic:
 * of concurrent claims for one id, exactly one returns "claimed". A method rejects if the store cannot be reached; its
 * action may still have taken place. The test suite `onceStoreContract` specifies the details.
 */
export interface OnceStore {
  /** Creates an entry for `id` with this claim if none exists. Otherwise returns the state of the existing entry. */
  claim(id: string, claim: OnceClaim): Promise<OnceState>;
  find(id: string): Promise<OnceState>;
  /**
   * Extends the claim of `owner` to `leaseMs` milliseconds from now. Returns false if another owner has the claim or
   * the call has ended.
   */
  renew(id: string, owner: string, leaseMs: number): Promise<boolean>;
  /**
   * Stores the result of a call, even if the claim of `owner` has expired. Returns false if another owner has the claim
   * or the call has already ended.
   */
  settle(id: string, owner: string, record: Uint8Array): Promise<boolean>;
  /** Removes the claim of `owner`, because the handler did not run. */
  release(id: string, owner: string): Promise<void>;
}

export interface OnceOptions<Context = unknown> {
  /** Store for the states and results of calls. Default: `MemoryOnceStore`, which uses this process's memory. */
  readonly store?: OnceStore;
  /**
   * Returns the principal (user or client) of a call. Equal keys of different principals are different keys. Default: `context.connection`, which must then be a string. Without `authenticate`, all clients are one principal.
   */
  readonly principal?: (context: CallContext<Context>) => string;
  /** Time for which a call's result is stored and its key can be used, in milliseconds. Default: a day. */
  readonly recordForMs?: number;
  /**
   * Time after which a call counts as lost if its server process has ended, in milliseconds. The server renews this
   * lease while the call runs. Default: 10,000.
   */
  readonly leaseMs?: number;
  /**
   * Maximum size of a stored response, in bytes. If a response is larger, a repeated call only learns that the first
   * one succeeded. Default: 256 KiB.
   */
  readonly maxRecordBytes?: number;
}

export const ONCE_OPTIONS: OptionNames<OnceOptions> = {
  leaseMs: true,
  maxRecordBytes: true,
  principal: true,
  recordForMs: true,
  store: true,
};

/** `OnceOptions` with the time at which the server received them. */
export interface OnceSettings {
  readonly options: OnceOptions<never>;
  /**
   * Start time of the server, in milliseconds since the Unix epoch. Calls with older keys may have run in an earlier
   * process.
   */
  readonly since: number;
}

const settings: WeakMap<OnceOptions<never>, OnceSettings> = new WeakMap();

/**
 * Returns the settings for `options`. All servers and sessions with the same options object share the same settings.
 */
export function onceSettings(options: OnceOptions<never> | undefined): OnceSettings | undefined {
  if (options === undefined) return undefined;
  let stored = settings.get(options);
  if (stored === undefined) settings.set(options, (stored = { options, since: Date.now() }));
  return stored;
}
