import type { CallOptions } from "@quicrpc/core";

/** Options of a query's calls. Their signal is the query's own. */
export type QueryCallOptions = Omit<CallOptions, "signal">;

/** Options of a streamed query. */
export interface StreamedCallOptions extends QueryCallOptions {
  /** How many items are kept: the latest ones. Default: all, so that a stream without an end needs a number here. */
  readonly keep?: number | undefined;
  /**
   * How items are kept when the query is fetched again. "reset" (default) drops them at once, "append" keeps them,
   * "replace" keeps them until the new stream has ended.
   */
  readonly refetchMode?: "reset" | "append" | "replace" | undefined;
}
