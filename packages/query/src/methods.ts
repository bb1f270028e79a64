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

/** A method that is called explicitly and has at most one response; its caller may stream. */
export interface MutationMethod<Input, Output> {
  /** Returns options for `useMutation`. TanStack Query does not cancel mutations; use the `signal` of `options`. */
  mutationOptions(options?: CallOptions): CallMutationOptions<Input, Output>;
}

/** A response as a query stores it. TanStack Query does not accept undefined, so undefined becomes null. */
export type Held<Output> = undefined extends Output ? Exclude<Output, undefined> | null : Output;

/** A method with one response. */
export interface UnaryMethod<Input, Output> extends MutationMethod<Input, Output> {
  /** Returns the key of the query with this input. Without an input it matches all queries of the method. */
  queryKey(input?: Input): DataTag<QueryKey, Held<Output>, RpcError>;
  /**
   * Returns options for `useQuery` and similar hooks, which may call at any time: use it for methods without side
   * effects.
   */
  queryOptions(input: Input, options?: QueryCallOptions): CallQueryOptions<Held<Output>>;
  queryOptions<Token extends symbol>(
    input: Input | Token,
    options?: QueryCallOptions,
  ): SkippableCallQueryOptions<Held<Output>, Token>;
  /**
   * Returns options for `useInfiniteQuery` and similar hooks, with one call for each page. `inputOf` returns the input
   * for a page parameter, such as a cursor.
   */
  infiniteOptions<Param>(
    inputOf: (param: Param) => Input,
    paging: Paging<Output, Param>,
    options?: QueryCallOptions,
  ): CallInfiniteOptions<Output, Param>;
}

/** A method whose response is a stream. */
export interface StreamMethod<Input, Item> {
  /** Returns the key of the query with this input. Without an input it matches all queries of the method. */
  queryKey(input?: Input): DataTag<QueryKey, Item[], RpcError>;
  /**
   * Returns options for `useQuery` and similar hooks: the data are the items so far, and the query is fetching until
   * the stream ends.
   */
  streamedOptions(input: Input, options?: StreamedCallOptions): CallQueryOptions<Item[]>;
  streamedOptions<Token extends symbol>(
    input: Input | Token,
    options?: StreamedCallOptions,
  ): SkippableCallQueryOptions<Item[], Token>;
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

/** Last part of the keys of queries that hold pages. It distinguishes them from the keys of queries with a single response. */
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
 * The overloads above state for which methods `queryFn` may be TanStack's `skipToken`, which waits for an input. Each
 * copy of TanStack's core has a different symbol, and an input is never a symbol.
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

/** Returns the key of all calls of `method`: scope (if any), service, method. It is plain JSON, as all keys are. */
export function methodKey(scope: string | undefined, { service, name }: AnyMethod): QueryKey {
  return scope === undefined ? [service.name, name] : [scope, service.name, name];
}

/** Returns the key of calls with this input, given the key of their method. Without an input they are the same. */
export function withInput(key: QueryKey, input: unknown): QueryKey {
  return input === undefined ? key : [...key, plain(input)];
}

/**
 * Converts a value to plain JSON that is different for different values: TanStack Query hashes keys with
 * `JSON.stringify`, which throws for a bigint and does not distinguish `Map`s. Values outside JSON are tagged as by the
 * `json` codec.
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
