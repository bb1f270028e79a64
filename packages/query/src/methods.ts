import { type CallOptions, type ItemStream, json, type RpcError } from "@quicrpc/core";
import { type DataTag, experimental_streamedQuery as streamedQuery, type QueryKey } from "@tanstack/query-core";
import { reopenedStream, type StreamPart } from "./reopened-stream.js";
import type {
  CallInfiniteOptions,
  CallMutationOptions,
  CallQueryOptions,
  Fetching,
  Paging,
  SkippableCallQueryOptions,
} from "./tanstack.js";
import type { AnyMethod } from "@quicrpc/core/generated";

/** A method that is called explicitly and returns at most one output. Its caller may stream the input. */
export interface MutationMethod<Input, Output> {
  /**
   * Returns options for `useMutation`. TanStack Query does not cancel mutations: to cancel a call, pass a `signal` in
   * `options`.
   */
  mutationOptions(options?: CallOptions): CallMutationOptions<Input, Output>;
}

/**
 * An output in the form in which a query stores it. TanStack Query does not accept undefined, so undefined becomes
 * null.
 */
export type Held<Output> = undefined extends Output ? Exclude<Output, undefined> | null : Output;

/** A method with one input and one output. */
export interface UnaryMethod<Input, Output> extends MutationMethod<Input, Output> {
  /** Returns the key of the query with this input. Without an input it matches all queries of the method. */
  queryKey(input?: Input): DataTag<QueryKey, Held<Output>, RpcError>;
  /**
   * Returns options for `useQuery` and similar hooks. They may make calls at any time, so use them for methods without
   * side effects.
   */
  queryOptions(input: Input, options?: QueryCallOptions): CallQueryOptions<Held<Output>>;
  queryOptions<Token extends symbol>(
    input: Input | Token,
    options?: QueryCallOptions,
  ): SkippableCallQueryOptions<Held<Output>, Token>;
  /**
   * Returns options for `useInfiniteQuery` and similar hooks, which make one call for each page. `inputOf` returns the
   * input for a page parameter, such as a cursor.
   */
  infiniteOptions<Param>(
    inputOf: (param: Param) => Input,
    paging: Paging<Output, Param>,
    options?: QueryCallOptions,
  ): CallInfiniteOptions<Output, Param>;
}

/** A method whose output is a stream. */
export interface StreamMethod<Input, Item> {
  /** Returns the key of the query with this input. Without an input it matches all queries of the method. */
  queryKey(input?: Input): DataTag<QueryKey, Item[], RpcError>;
  /**
   * Returns options for `useQuery` and similar hooks. The data are the items received so far. The query counts as
   * fetching until the stream ends.
   */
  streamedOptions(input: Input, options?: StreamedCallOptions): CallQueryOptions<Item[]>;
  streamedOptions<Token extends symbol>(
    input: Input | Token,
    options?: StreamedCallOptions,
  ): SkippableCallQueryOptions<Item[], Token>;
}

type Call<Input, Answer> = (input: Input, options: CallOptions | undefined) => Answer;

/**
 * Creates the members of a method that is called explicitly.
 *
 * @param key key of the method's queries
 */
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
    queryOptions: (input: Input | symbol, options?: QueryCallOptions) =>
      query<Input, Held<Output>>(key, input, (input) => async ({ signal }) => {
        const result = await call(input, { ...options, signal });
        return (result ?? null) as Held<Output>;
      }),
    infiniteOptions: (inputOf, paging, options) => ({
      ...paging,
      queryKey: [...withInput(key, inputOf(paging.initialPageParam)), PAGES] as never,
      queryFn: ({ signal, pageParam }) => call(inputOf(pageParam), { ...options, signal }),
    }),
  };
}

/** Last part of the keys of queries for pages. It distinguishes them from the keys of queries with a single output. */
const PAGES = "pages";

export function streamMethod<Input, Item>(
  key: QueryKey,
  call: Call<Input, ItemStream<Item>>,
  isOver: () => boolean,
): StreamMethod<Input, Item> {
  return {
    queryKey: (input) => keyWith(key, input),
    streamedOptions: (
      input: Input | symbol,
      { keep = Number.POSITIVE_INFINITY, refetchMode = "reset", ...options }: StreamedCallOptions = {},
    ) =>
      query<Input, Item[]>(key, input, (input) => {
        const fetching = streamedQuery<StreamPart<Item>, Item[]>({
          streamFn: ({ signal, client, queryKey }) =>
            reopenedStream(
              (attempt) => call(input, attempt),
              { ...options, signal },
              isOver,
              (failures, error, isWaiting) =>
                client
                  .getQueryCache()
                  .find({ queryKey, exact: true })
                  ?.setState({
                    fetchStatus: isWaiting ? "paused" : "fetching",
                    fetchFailureCount: failures,
                    fetchFailureReason: error,
                  }),
            ),
          reducer: (before, { items, replaces }) => {
            const all = replaces && refetchMode !== "append" ? items : [...before, ...items];
            return all.slice(Math.max(0, all.length - keep));
          },
          initialValue: [],
          refetchMode,
        });
        // TanStack Query gives it all of a context, of whichever copy.
        return fetching as Fetching<Item[]>;
      }),
  };
}

function keyWith<Input, Data>(key: QueryKey, input: Input | undefined): DataTag<QueryKey, Data, RpcError> {
  return withInput(key, input) as DataTag<QueryKey, Data, RpcError>;
}

/**
 * Creates the options of a query. `queryFn` may be TanStack's `skipToken`, which waits for an input; the overloads
 * state for which methods. Each copy of TanStack's core has a different symbol as `skipToken`, so every symbol counts
 * as one. An input is never a symbol.
 */
function query<Input, Data>(
  key: QueryKey,
  input: Input | symbol,
  fetching: (input: Input) => Fetching<Data>,
): CallQueryOptions<Data> & SkippableCallQueryOptions<Data, never> {
  const options =
    typeof input === "symbol"
      ? { queryKey: key, queryFn: input }
      : { queryKey: keyWith(key, input), queryFn: fetching(input) };
  return options as CallQueryOptions<Data> & SkippableCallQueryOptions<Data, never>;
}

/** Call options of a query. They exclude the signal, which TanStack Query provides. */
export type QueryCallOptions = Omit<CallOptions, "signal">;

/** Options of a streamed query. */
export interface StreamedCallOptions extends QueryCallOptions {
  /** Number of items that are stored: the latest ones. Set it for a stream without an end. Default: all items. */
  readonly keep?: number | undefined;
  /**
   * How stored items are handled when the query is fetched again. "reset" removes them at once, "append" keeps them,
   * "replace" keeps them until the new stream has ended. Default "reset".
   */
  readonly refetchMode?: "reset" | "append" | "replace" | undefined;
}

/**
 * Returns the key of all queries of a method: the scope (if there is one), the service and the method. Keys are plain
 * JSON.
 */
export function methodKey(scope: string | undefined, { service, name }: AnyMethod): QueryKey {
  return scope === undefined ? [service.name, name] : [scope, service.name, name];
}

/**
 * Returns the key of the query with this input, from the key of its method. Without an input, returns the method's key.
 */
export function withInput(key: QueryKey, input: unknown): QueryKey {
  return input === undefined ? key : [...key, plain(input)];
}

/**
 * Converts a value to plain JSON that differs for different values. It is necessary because TanStack Query hashes keys
 * with `JSON.stringify`, which throws for a big integer and does not distinguish `Map` objects. Values that JSON does
 * not have are tagged as in the `json` codec.
 */
function plain(value: unknown): unknown {
  const out = {
    buffer: new Uint8Array(),
    position: 0,
    reserve(length: number) {
      this.buffer = new Uint8Array(length);
    },
  };
  json.encode(value, out);
  return JSON.parse(new TextDecoder().decode(out.buffer));
}
