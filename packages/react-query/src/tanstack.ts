import type { RpcError } from "@quicrpc/core";
import type {
  DataTag,
  QueryKey,
  UndefinedInitialDataOptions,
  UnusedSkipTokenOptions,
  UseMutationOptions,
} from "@tanstack/react-query";

/** Return type of TanStack's `queryOptions()` for a call that returns `Data`. */
export type CallQueryOptions<Data> = UnusedSkipTokenOptions<Data, RpcError> & TaggedKey<Data>;

/** Return type of `queryOptions()` for a query that waits for its input. */
export type SkippableCallQueryOptions<Data> = UndefinedInitialDataOptions<Data, RpcError> & TaggedKey<Data>;

/** Return type of TanStack's `mutationOptions()` for a call that takes `Variables` and returns `Data`. */
export type CallMutationOptions<Variables, Data> = UseMutationOptions<Data, RpcError, Variables> & {
  readonly mutationKey: QueryKey;
};

/** By its key, `queryClient.getQueryData` and its like know what a query holds. */
interface TaggedKey<Data> {
  readonly queryKey: DataTag<QueryKey, Data, RpcError>;
}
