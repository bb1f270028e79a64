import type { RpcError } from "@quicrpc/core";
import type {
  DataTag,
  QueryKey,
  UndefinedInitialDataOptions,
  UnusedSkipTokenOptions,
  UseMutationOptions,
} from "@tanstack/react-query";

/** What TanStack's own `queryOptions()` returns, of a call that gives `Data`. */
export type CallQueryOptions<Data> = UnusedSkipTokenOptions<Data, RpcError> & TaggedKey<Data>;

/** The same of a query that waits for its input. */
export type SkippableCallQueryOptions<Data> = UndefinedInitialDataOptions<Data, RpcError> & TaggedKey<Data>;

/** What TanStack's own `mutationOptions()` returns, of a call that takes `Variables` and gives `Data`. */
export type CallMutationOptions<Variables, Data> = UseMutationOptions<Data, RpcError, Variables> & {
  readonly mutationKey: QueryKey;
};

/** By its key, `queryClient.getQueryData` and its like know what a query holds. */
interface TaggedKey<Data> {
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
}
