// The options in a framework that is not React.
import { createLocalCaller, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createQueries } from "@quicrpc/query";
import { QueryClient, skipToken, useInfiniteQuery, useMutation, useQuery } from "@tanstack/vue-query";
import { afterEach, expect, test } from "vitest";
import { computed, effectScope, ref, watch } from "vue";

const service = { name: "test.v1.Vue", id: 8 };
const number = uncheckedCodec<number>();
const methods = {
  double: defineMethod(service, "unary", "double", { id: 1, input: number, output: number }),
  countTo: defineMethod(service, "server_stream", "countTo", { id: 2, input: number, output: number }),
  page: defineMethod(service, "unary", "page", { id: 3, input: number, output: uncheckedCodec<number[]>() }),
};
const router = createRouter(methods, {
  double(n) {
    if (n < 0) throw new RpcError("out_of_range", "too small");
    return n * 2;
  },
  *countTo(n) {
    for (let i = 1; i <= n; i++) yield i;
  },
  page: (after) => [after + 1, after + 2],
});
const api = createQueries(methods, createLocalCaller([router]));

const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
const scope = effectScope();
afterEach(() => client.clear());

function until(holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = watch(
      holds,
      (does) => {
        if (!does) return;
        queueMicrotask(() => stop());
        resolve();
      },
      { immediate: true, flush: "sync" },
    );
  });
}

test("queries follow their reactive input, and fail with an RpcError", async () => {
  const input = ref<number>();
  const query = scope.run(() =>
    useQuery(
      computed(() => api.double.queryOptions(input.value ?? skipToken)),
      client,
    ),
  ) as ReturnType<typeof useQuery<number, RpcError>>;
  expect(query.fetchStatus.value).toBe("idle");
  input.value = 4;
  await until(() => query.data.value === 8);
  input.value = -1;
  await until(() => query.error.value !== null);
  expect(query.error.value).toBeInstanceOf(RpcError);
});

test("streams, pages and mutations", async () => {
  const inScope = <Result>(make: () => Result): Result => scope.run(make) as Result;
  const stream = inScope(() => useQuery(api.countTo.streamedOptions(3), client));
  const pages = inScope(() =>
    useInfiniteQuery(
      api.page.infiniteOptions((after: number) => after, {
        initialPageParam: 0,
        getNextPageParam: (last) => last.at(-1),
      }),
      client,
    ),
  );
  const mutation = inScope(() => useMutation(api.double.mutationOptions(), client));
  await until(() => stream.data.value?.length === 3);
  await until(() => pages.hasNextPage.value);
  await pages.fetchNextPage();
  expect(pages.data.value).toEqual({
    pages: [
      [1, 2],
      [3, 4],
    ],
    pageParams: [0, 2],
  });
  expect(client.getQueryCache().findAll({ queryKey: api.page.queryKey() })).toHaveLength(1);
  expect(await mutation.mutateAsync(21)).toBe(42);
});
