import type { RpcError } from "@quicrpc/core";
import type { DataTag, InfiniteData, QueryKey } from "@tanstack/query-core";

// A program may have several copies of TanStack's core, one for each framework's package: these types name none of its classes and symbols
// but for the tags of keys, so that options fit all copies.

/** Options of TanStack Query for a call that returns `Data`, as every framework's functions take them. */
export interface CallQueryOptions<Data> extends FailsWithRpcError {
  /** Type by which `queryClient.getQueryData` and its like know what a query holds. */
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data>;
}

/** The same for a query that waits for its input. */
export interface SkippableCallQueryOptions<Data, Token extends symbol> extends FailsWithRpcError {
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
  readonly queryFn: Fetching<Data> | Token;
}

/** Options for a call that takes `Variables` and returns `Data`. */
export interface CallMutationOptions<Variables, Data> extends FailsWithRpcError {
  readonly mutationKey: QueryKey;
  readonly mutationFn: (variables: Variables) => Promise<Data>;
}

/** Says where the next page begins, and how many are kept. */
export interface Paging<Page, Param> {
  readonly initialPageParam: Param;
  /** Returns the parameter of the page after the last; undefined or null where there is none. */
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

/** Options for calls that return a page each. */
export interface CallInfiniteOptions<Page, Param> extends FailsWithRpcError, Paging<Page, Param> {
  readonly queryKey: DataTag<QueryKey, InfiniteData<Page, Param>, RpcError>;
  readonly queryFn: (context: { readonly signal: AbortSignal; readonly pageParam: Param }) => Promise<Page>;
}

/** Fetches when TanStack Query says so. */
export type Fetching<Data> = (context: { readonly signal: AbortSignal }) => Promise<Data>;

/** The field by which TypeScript knows the type of errors. It is not set. */
interface FailsWithRpcError {
  readonly throwOnError?: boolean | ((error: RpcError) => boolean);
}
