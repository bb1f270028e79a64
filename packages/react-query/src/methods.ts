import type { CallOptions, ItemStream, RpcError } from "@quicrpc/core";
import {
  type DataTag,
  experimental_streamedQuery as streamedQuery,
  type QueryFunction,
  type QueryKey,
  type SkipToken,
  skipToken,
} from "@tanstack/react-query";
import { withInput } from "./key.js";
import type { QueryCallOptions, StreamedCallOptions } from "./options.js";
import type { CallMutationOptions, CallQueryOptions, SkippableCallQueryOptions } from "./tanstack.js";

/** A method to be called on purpose: with one answer or none, whether its caller streams or not. */
export interface MutationMethod<Input, Output> {
  /** For `useMutation`. TanStack Query cancels no mutation; the `signal` of `options` does. */
  mutationOptions(options?: CallOptions): CallMutationOptions<Input, Output>;
}

/** A method with one answer. */
export interface UnaryMethod<Input, Output> extends MutationMethod<Input, Output> {
  /** The key of the query with this input; without one, the key by which all queries of the method are found. */
  queryKey(input?: Input): DataTag<QueryKey, Output, RpcError>;
  /** For `useQuery` and its like, which call whenever they think fit: for methods that change nothing. */
  queryOptions(input: Input, options?: QueryCallOptions): CallQueryOptions<Output>;
  queryOptions(input: Input | SkipToken, options?: QueryCallOptions): SkippableCallQueryOptions<Output>;
}

/** A method whose answer is a stream. */
export interface StreamMethod<Input, Item> {
  /** The key of the query with this input; without one, the key by which all queries of the method are found. */
  queryKey(input?: Input): DataTag<QueryKey, Item[], RpcError>;
  /** For `useQuery` and its like: its data are the items so far, and it is being fetched until the stream ends. */
  streamedOptions(input: Input, options?: StreamedCallOptions): CallQueryOptions<Item[]>;
  streamedOptions(input: Input | SkipToken, options?: StreamedCallOptions): SkippableCallQueryOptions<Item[]>;
}

type Call<Input, Answer> = (input: Input, options: CallOptions | undefined) => Answer;

/** @param key of the method; so are those below */
export function mutationMethod<Input, Output>(
  key: QueryKey,
  call: Call<Input, Promise<Output>>,
): MutationMethod<Input, Output> {
  return {
    mutationOptions: (options) => ({ mutationKey: key, mutationFn: (input) => call(input, options) }),
  };
}

export function unaryMethod<Input, Output>(
  key: QueryKey,
  call: Call<Input, Promise<Output>>,
): UnaryMethod<Input, Output> {
  return {
    ...mutationMethod(key, call),
    queryKey: (input) => keyWith(key, input),
    queryOptions: (input: Input | SkipToken, options?: QueryCallOptions) =>
      query<Input, Output>(
        key,
        input,
        (input) =>
          ({ signal }) =>
            call(input, { ...options, signal }),
      ),
  };
}

export function streamMethod<Input, Item>(
  key: QueryKey,
  call: Call<Input, ItemStream<Item>>,
): StreamMethod<Input, Item> {
  return {
    queryKey: (input) => keyWith(key, input),
    streamedOptions: (
      input: Input | SkipToken,
      { keep = Number.POSITIVE_INFINITY, refetchMode = "reset", ...options }: StreamedCallOptions = {},
    ) =>
      query<Input, Item[]>(key, input, (input) =>
        streamedQuery<Item>({
          streamFn: ({ signal }) => call(input, { ...options, signal }),
          reducer: (items, item) => [...items.slice(Math.max(0, items.length + 1 - keep)), item],
          initialValue: [],
          refetchMode,
        }),
      ),
  };
}

function keyWith<Input, Data>(key: QueryKey, input: Input | undefined): DataTag<QueryKey, Data, RpcError> {
  return withInput(key, input) as DataTag<QueryKey, Data, RpcError>;
}

/** The overloads above say where `queryFn` may be the token. */
function query<Input, Data>(
  key: QueryKey,
  input: Input | SkipToken,
  fetching: (input: Input) => QueryFunction<Data>,
): CallQueryOptions<Data> & SkippableCallQueryOptions<Data> {
  const options =
    input === skipToken
      ? { queryKey: key, queryFn: skipToken }
      : { queryKey: keyWith(key, input), queryFn: fetching(input) };
  return options as CallQueryOptions<Data> & SkippableCallQueryOptions<Data>;
}
