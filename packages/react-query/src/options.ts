import type { CallOptions } from "@quicrpc/core";

/** Of the calls of a query. Their signal is the query's own. */
export type QueryCallOptions = Omit<CallOptions, "signal">;

/** Of a streamed query. */
export interface StreamedCallOptions extends QueryCallOptions {
  /** How many items are kept: the latest ones. Default: all, so that a stream without an end needs a number here. */
  readonly keep?: number | undefined;
  /**
   * What becomes of the items when the query is fetched again. "reset" (default) drops them at once, "append" keeps them,
   * "replace" keeps them until the new stream has ended.
   */
  readonly refetchMode?: "reset" | "append" | "replace" | undefined;
}
