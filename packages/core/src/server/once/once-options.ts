import type { OptionNames } from "../../check-options.js";
import type { CallContext } from "../context.js";
import type { OnceStore } from "./once-store.js";

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
