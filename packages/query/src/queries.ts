import type { AnyMethod, MethodDescriptor, MethodKind } from "@quicrpc/core/generated";
import type { Caller, Session, StreamSource } from "@quicrpc/core";
import {
  methodKey,
  type MutationMethod,
  mutationMethod,
  type StreamMethod,
  streamMethod,
  type UnaryMethod,
  unaryMethod,
} from "./methods.js";

/** Type for a duplex method, which is neither a query nor a mutation: make the call with the generated client. */
export type NoQueries = Readonly<Record<never, never>>;

/**
 * Queries and mutations of a method, by its kind. A query must contain data, so a method without an output only has
 * mutations.
 */
export type MethodQueries<Kind extends MethodKind, Input, Output> = {
  unary: [Output] extends [void] ? MutationMethod<Input, void> : UnaryMethod<Input, Output>;
  server_stream: StreamMethod<Input, Output>;
  notify: MutationMethod<Input, void>;
  client_stream: MutationMethod<StreamSource<Input>, Output>;
  duplex: NoQueries;
}[Kind];

/**
 * Queries and mutations of each method of a service. TypeScript computes the type of a member when the program uses it.
 */
export type Queries<Methods extends Record<string, AnyMethod>> = {
  readonly [Name in keyof Methods]: Methods[Name] extends MethodDescriptor<
    infer Kind,
    infer Sent,
    infer _Received,
    infer _Returned,
    infer Result
  >
    ? MethodQueries<Kind, Sent, Result>
    : never;
};

/** Options of `createQueries`. */
export interface CreateQueriesOptions {
  /** First part of every key, if one `QueryClient` is used for several servers of the same service. Default: none. */
  readonly scope?: string | undefined;
}

/**
 * Creates options of TanStack Query for the methods of a service. `methods` is the table of descriptors that `quicrpc
 * gen` writes: `createQueries(arithMethods, connection)`. Calls are made with `caller`, such as a connection.
 */
export function createQueries<const Methods extends Record<string, AnyMethod>>(
  methods: Methods,
  caller: Caller,
  { scope }: CreateQueriesOptions = {},
): Queries<Methods> {
  let isOver = false;
  // The caller may be a session or a connection. Streams of any other caller are opened again without limit.
  void (caller as Partial<Session>).closed?.then(() => (isOver = true));
  const queries = Object.entries(methods).map(([name, method]) => [
    name,
    queriesOf(method, caller, scope, () => isOver),
  ]);
  return Object.fromEntries(queries) as Queries<Methods>;
}

function queriesOf(method: AnyMethod, caller: Caller, scope: string | undefined, isOver: () => boolean): object {
  const key = methodKey(scope, method);
  switch (method.kind) {
    case "unary":
      return unaryMethod(key, (input, options) => caller.start(method, input, options));
    case "server_stream":
      return streamMethod(key, (input, options) => caller.start(method, input, options), isOver);
    case "notify":
      return mutationMethod(key, (input, options) => caller.start(method, input, options));
    case "client_stream":
      return mutationMethod(key, (source: StreamSource<unknown>, options) => caller.start(method, source, options));
    case "duplex":
      return {};
  }
}
