// Compiled, never run: what TypeScript knows of queries by a table of descriptors.
import { type Caller, isRpcErrorOf, type RpcError } from "@quicrpc/core";
import type { ErrorDescriptor, MethodDescriptor } from "@quicrpc/core/generated";
import { createQueries } from "@quicrpc/query";
import { skipToken, useMutation, useQueries, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { expectTypeOf } from "vitest";

interface Ratio {
  a: number;
  b: bigint;
  exact?: boolean;
}
interface Quotient {
  quo: bigint;
}
type DivideErrors = {
  readonly DIVIDE_BY_ZERO: ErrorDescriptor<"failed_precondition", { a: number }>;
};
declare const methods: {
  readonly divide: MethodDescriptor<"unary", Ratio, Required<Ratio>, Quotient, Quotient, DivideErrors>;
  readonly list: MethodDescriptor<"unary", void, void, string[], string[]>;
  readonly find: MethodDescriptor<"unary", number, number, Quotient | undefined, Quotient | undefined>;
  readonly anything: MethodDescriptor<"unary", void, void, unknown, unknown>;
  readonly forget: MethodDescriptor<"unary", Ratio, Ratio, void, void>;
  readonly log: MethodDescriptor<"notify", string, string, void, void>;
  readonly ticks: MethodDescriptor<"server_stream", { n: number }, { n: number }, Date, Date>;
  readonly upload: MethodDescriptor<"client_stream", Uint8Array, Uint8Array, number, number>;
  readonly talk: MethodDescriptor<"duplex", string, string, string, string>;
};
declare const caller: Caller;

const api = createQueries(methods, caller);
const input: Ratio = { a: 1, b: 2n };

export function queries(ready: boolean): void {
  const { data, error } = useQuery(api.divide.queryOptions(input));
  expectTypeOf(data).toEqualTypeOf<Quotient | undefined>();
  expectTypeOf(error).toEqualTypeOf<RpcError | null>();
  if (isRpcErrorOf(methods.divide, error) && error.reason === "DIVIDE_BY_ZERO") {
    expectTypeOf(error.code).toEqualTypeOf<"failed_precondition">();
    expectTypeOf(error.details.a).toBeNumber();
  }
  expectTypeOf(useQuery(api.list.queryOptions()).data).toEqualTypeOf<string[] | undefined>();
  expectTypeOf(useSuspenseQuery(api.divide.queryOptions(input)).data).toEqualTypeOf<Quotient>();
  const selected = useQuery({ ...api.divide.queryOptions(input), select: ({ quo }) => quo, staleTime: 1000 });
  expectTypeOf(selected.data).toEqualTypeOf<bigint | undefined>();
  const skipped = useQuery(api.divide.queryOptions(ready ? input : skipToken));
  expectTypeOf(skipped.data).toEqualTypeOf<Quotient | undefined>();
  const [first, second] = useQueries({ queries: [api.divide.queryOptions(input), api.list.queryOptions()] });
  expectTypeOf(first.data).toEqualTypeOf<Quotient | undefined>();
  expectTypeOf(second.data).toEqualTypeOf<string[] | undefined>();
  const client = useQueryClient();
  expectTypeOf(client.getQueryData(api.divide.queryKey(input))).toEqualTypeOf<Quotient | undefined>();
  expectTypeOf(client.fetchQuery(api.list.queryOptions())).toEqualTypeOf<Promise<string[]>>();
  expectTypeOf(client.fetchQuery(api.find.queryOptions(1))).toEqualTypeOf<Promise<Quotient | null>>();
  expectTypeOf(client.getQueryData(api.find.queryKey(1))).toEqualTypeOf<Quotient | null | undefined>();
  expectTypeOf(useQuery(api.anything.queryOptions()).data).toBeUnknown();

  // @ts-expect-error -- b is a bigint
  api.divide.queryOptions({ a: 1, b: 2 });
  // @ts-expect-error -- the input is missing
  api.divide.queryOptions();
  // @ts-expect-error -- the query's own signal is the call's
  api.divide.queryOptions(input, { signal: new AbortController().signal });
  // @ts-expect-error -- a suspended query always has its input
  useSuspenseQuery(api.divide.queryOptions(skipToken));
  // @ts-expect-error -- no query holds nothing
  expectTypeOf(api.forget.queryOptions).toBeFunction();
}

export function streams(): void {
  const { data, error } = useQuery(api.ticks.streamedOptions({ n: 1 }, { keep: 10, refetchMode: "append" }));
  expectTypeOf(data).toEqualTypeOf<Date[] | undefined>();
  expectTypeOf(error).toEqualTypeOf<RpcError | null>();
  const latest = useQuery({ ...api.ticks.streamedOptions({ n: 1 }), select: (items) => items.at(-1) });
  expectTypeOf(latest.data).toEqualTypeOf<Date | undefined>();
  // @ts-expect-error -- it has many answers
  expectTypeOf(api.ticks.queryOptions).toBeFunction();
  // @ts-expect-error -- a conversation is no query
  expectTypeOf(api.talk.streamedOptions).toBeFunction();
}

export function mutations(chunks: ReadableStream<Uint8Array>): void {
  const divide = useMutation({
    ...api.divide.mutationOptions(),
    onSuccess: ({ quo }) => expectTypeOf(quo).toBeBigInt(),
  });
  divide.mutate(input);
  expectTypeOf(divide.data).toEqualTypeOf<Quotient | undefined>();
  expectTypeOf(divide.error).toEqualTypeOf<RpcError | null>();
  expectTypeOf(useMutation(api.upload.mutationOptions()).mutateAsync(chunks)).toEqualTypeOf<Promise<number>>();
  useMutation(api.log.mutationOptions()).mutate("a line");
  useMutation(api.forget.mutationOptions()).mutate(input);
  useMutation(api.list.mutationOptions()).mutate();
  // @ts-expect-error -- a line is text
  useMutation(api.log.mutationOptions()).mutate(5);
}
