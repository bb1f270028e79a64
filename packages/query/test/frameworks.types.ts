// Compiled, never run: the same options in Vue, Solid and Svelte.
import type { Caller, RpcError } from "@quicrpc/core";
import type { MethodDescriptor } from "@quicrpc/core/generated";
import { createQueries } from "@quicrpc/query";
import * as solid from "@tanstack/solid-query";
import * as svelte from "@tanstack/svelte-query";
import * as vue from "@tanstack/vue-query";
import { expectTypeOf } from "vitest";

declare const methods: {
  readonly get: MethodDescriptor<"unary", { id: string }, { id: string }, Date, Date>;
  readonly ticks: MethodDescriptor<"server_stream", void, void, number, number>;
  readonly page: MethodDescriptor<"unary", { after: number }, { after: number }, number[], number[]>;
};
declare const caller: Caller;
const api = createQueries(methods, caller);
const pages = api.page.infiniteOptions((after: number) => ({ after }), {
  initialPageParam: 0,
  getNextPageParam: (last) => last.at(-1),
});

export function inVue(): void {
  const { data, error } = vue.useQuery(api.get.queryOptions({ id: "7" }));
  expectTypeOf(data.value).toEqualTypeOf<Date | undefined>();
  expectTypeOf(error.value).toEqualTypeOf<RpcError | null>();
  expectTypeOf(vue.useQuery(api.ticks.streamedOptions()).data.value).toEqualTypeOf<number[] | undefined>();
  expectTypeOf(vue.useMutation(api.get.mutationOptions()).error.value).toEqualTypeOf<RpcError | null>();
  expectTypeOf(vue.useInfiniteQuery(pages).data.value?.pages).toEqualTypeOf<number[][] | undefined>();
}

export function inSolid(): void {
  const query = solid.useQuery(() => api.get.queryOptions({ id: "7" }));
  expectTypeOf(query.data).toEqualTypeOf<Date | undefined>();
  expectTypeOf(query.error).toEqualTypeOf<RpcError | null>();
  expectTypeOf(solid.useQuery(() => api.ticks.streamedOptions()).data).toEqualTypeOf<number[] | undefined>();
  expectTypeOf(solid.useMutation(() => api.get.mutationOptions()).data).toEqualTypeOf<Date | undefined>();
  expectTypeOf(solid.useInfiniteQuery(() => pages).data?.pages).toEqualTypeOf<number[][] | undefined>();
}

export function inSvelte(): void {
  const query = svelte.createQuery(() => api.get.queryOptions({ id: "7" }));
  expectTypeOf(query.data).toEqualTypeOf<Date | undefined>();
  expectTypeOf(query.error).toEqualTypeOf<RpcError | null>();
  expectTypeOf(svelte.createQuery(() => api.ticks.streamedOptions()).data).toEqualTypeOf<number[] | undefined>();
  expectTypeOf(svelte.createMutation(() => api.get.mutationOptions()).data).toEqualTypeOf<Date | undefined>();
  expectTypeOf(svelte.createInfiniteQuery(() => pages).data?.pages).toEqualTypeOf<number[][] | undefined>();
}
