import type { RpcError } from "@quicrpc/core";
import type { DataTag, InfiniteData, QueryKey } from "@tanstack/query-core";

// A program may contain several copies of TanStack's core, one for each framework's package. So that options fit all
// copies, these types refer to none of its classes and symbols, except for the tags of keys.

/** Options of TanStack Query for a call whose output is `Data`. The functions of all frameworks accept them. */
export interface CallQueryOptions<Data> extends FailsWithRpcError {
  /** Key of the query. Its type tells `queryClient.getQueryData` and similar functions the type of the data. */
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data>;
}

/** Options of a query that may wait for its input. */
export interface SkippableCallQueryOptions<Data, Token extends symbol> extends FailsWithRpcError {
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data> | Token;
}

/** Options for a mutation that takes `Variables` and returns `Data`. */
export interface CallMutationOptions<Variables, Data> extends FailsWithRpcError {
  readonly mutationKey: QueryKey;
  readonly mutationFn: (variables: Variables) => Promise<Data>;
}

/** Options for pages: the parameter of the next page, and the number of pages to store. */
export interface Paging<Page, Param> {
  readonly initialPageParam: Param;
  /** Returns the parameter of the page that follows the last one. Undefined or null if there is none. */
  readonly getNextPageParam: (
    lastPage: Page,
    pages: Page[],
    lastParam: Param,
    params: Param[],
  ) => Param | undefined | null;
  readonly getPreviousPageParam?: (
    firstPage: Page,
    pages: Page[],
    firstParam: Param,
    params: Param[],
  ) => Param | undefined | null;
  readonly maxPages?: number;
}

/** Options of TanStack Query's infinite queries. Each page is the output of one call. */
export interface CallInfiniteOptions<Page, Param> extends FailsWithRpcError, Paging<Page, Param> {
  readonly queryKey: DataTag<QueryKey, InfiniteData<Page, Param>, RpcError>;
  readonly queryFn: (context: { readonly signal: AbortSignal; readonly pageParam: Param }) => Promise<Page>;
}

export type Fetching<Data> = (context: { readonly signal: AbortSignal }) => Promise<Data>;

/** Declares the type of errors to TypeScript. The field is never set. */
interface FailsWithRpcError {
  readonly throwOnError?: boolean | ((error: RpcError) => boolean);
}
