import type { RpcError } from "@quicrpc/core";
import type { DataTag, InfiniteData, QueryKey } from "@tanstack/query-core";

// A program may have several copies of TanStack's core, one for each framework's package: these types name none of its classes and symbols
// but for the tags of keys, so that options fit all copies.

/** Options of TanStack Query for a call that returns `Data`, as accepted by the functions of every framework. */
export interface CallQueryOptions<Data> extends FailsWithRpcError {
  /** Key whose type tells `queryClient.getQueryData` and similar functions the type of the data. */
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data>;
}

/** Options of a query that may wait for its input. */
export interface SkippableCallQueryOptions<Data, Token extends symbol> extends FailsWithRpcError {
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data> | Token;
}

/** Options for a call that takes `Variables` and returns `Data`. */
export interface CallMutationOptions<Variables, Data> extends FailsWithRpcError {
  readonly mutationKey: QueryKey;
  readonly mutationFn: (variables: Variables) => Promise<Data>;
}

/** Paging options: the parameter of the next page, and the number of pages to keep. */
export interface Paging<Page, Param> {
  readonly initialPageParam: Param;
  /** Returns the parameter of the page after the last; undefined or null if there is none. */
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

/** Options of TanStack Query's infinite queries: each page is the response of one call. */
export interface CallInfiniteOptions<Page, Param> extends FailsWithRpcError, Paging<Page, Param> {
  readonly queryKey: DataTag<QueryKey, InfiniteData<Page, Param>, RpcError>;
  readonly queryFn: (context: { readonly signal: AbortSignal; readonly pageParam: Param }) => Promise<Page>;
}

/** Called by TanStack Query to fetch the data. */
export type Fetching<Data> = (context: { readonly signal: AbortSignal }) => Promise<Data>;

/** Declares the type of errors to TypeScript. The field is never set. */
interface FailsWithRpcError {
  readonly throwOnError?: boolean | ((error: RpcError) => boolean);
}
