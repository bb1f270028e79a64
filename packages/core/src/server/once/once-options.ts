import type { OptionNames } from "../../check-options.js";
import type { CallContext } from "../context.js";
import type { OnceStore } from "./once-store.js";

/** Settings of calls of methods that are `once`. */
export interface OnceOptions<Context = unknown> {
  /** Where calls are remembered. Default: this process's memory, `MemoryOnceStore`. */
  readonly store?: OnceStore;
  /**
   * Whose key a call's is: the same key of another principal is another. Default: `context.connection` where that is text, and one
   * principal for all where there is no connection value; calls with another value fail until this says whose they are.
   */
  readonly principal?: (context: CallContext<Context>) => string;
  /** Milliseconds that the outcome of a call is kept, and that its key may be used. Default: a day. */
  readonly recordForMs?: number;
  /** Milliseconds after which a call whose process is gone counts as lost. It is renewed while the call runs. Default: 10,000. */
  readonly leaseMs?: number;
  /** Bytes of an answer that is kept. A larger answer is not kept: a call that is made again is told only that the first one succeeded. Default: 256 KiB. */
  readonly maxRecordBytes?: number;
}

/** Names of those settings. */
export const ONCE_OPTIONS: OptionNames<OnceOptions> = {
  leaseMs: true,
  maxRecordBytes: true,
  principal: true,
  recordForMs: true,
  store: true,
};

/** Those settings as a server of calls was given them. */
export interface OnceSettings {
  readonly options: OnceOptions<never>;
  /** When it began to serve: calls by keys from before may have run in a process that is gone. */
  readonly since: number;
}
