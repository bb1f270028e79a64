import { createSession, RpcError, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { QueryClient, QueryObserver, skipToken } from "@tanstack/query-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createQueries } from "./index.js";

const service = { name: "test.v1.Queries", id: 7 };
const number = uncheckedCodec<number>();
const methods = {
  double: defineMethod(service, "unary", "double", { id: 1, input: number, output: number }),
  never: defineMethod(service, "unary", "never", { id: 2, input: number, output: number }),
  countTo: defineMethod(service, "server_stream", "countTo", { id: 3, input: number, output: number }),
  sum: defineMethod(service, "client_stream", "sum", { id: 4, input: number, output: number }),
  note: defineMethod(service, "notify", "note", { id: 5, input: number }),
  clear: defineMethod(service, "unary", "clear", { id: 6, input: number }),
  find: defineMethod(service, "unary", "find", { id: 8, input: number, output: uncheckedCodec<string | undefined>() }),
  talk: defineMethod(service, "duplex", "talk", { id: 7, input: number, output: number }),
};

describe("createQueries", () => {
  let session: Session;
  let server: Session;
  let client: QueryClient;
  let noted: number[];
  /** Resolves when the handler of `never` notices that its caller has cancelled the call. */
  let cancelled: Promise<RpcError>;

  beforeEach(() => {
    noted = [];
    let onCancelled!: (reason: RpcError) => void;
    cancelled = new Promise((resolve) => {
      onCancelled = resolve;
    });
    const router = createRouter(methods, {
      double: (n) => {
        if (n < 0) throw new RpcError("out_of_range", "too small", { details: { n } });
        return n * 2;
      },
      never: (_, { signal }) =>
        new Promise<number>(() => signal.addEventListener("abort", () => onCancelled(signal.reason as RpcError))),
      *countTo(n) {
        for (let i = 1; i <= n; i++) yield i;
      },
      async sum(items) {
        let sum = 0;
        for await (const item of items) sum += item;
        return sum;
      },
      note: (n) => void noted.push(n),
      find: (n) => (n === 1 ? "one" : undefined),
      clear: (n) => void noted.splice(0, n),
      talk: (items) => items,
    });
    const [near, far] = createMemoryPair();
    session = createSession(near);
    server = createSession(far, { routers: [router] });
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  });
  afterEach(async () => {
    client.clear();
    await session.close();
    await server.closed;
  });

  it("calls, and finds what it holds by its key", async () => {
    const { double } = createQueries(methods, session);
    expect(await client.fetchQuery(double.queryOptions(4))).toBe(8);
    expect(client.getQueryData(double.queryKey(4))).toBe(8);
    expect(client.getQueryCache().findAll({ queryKey: double.queryKey() })).toHaveLength(1);
  });

  it("holds null for an answer that is undefined, which TanStack Query takes for an error", async () => {
    const { find } = createQueries(methods, session);
    expect(await client.fetchQuery(find.queryOptions(1))).toBe("one");
    expect(await client.fetchQuery(find.queryOptions(2))).toBeNull();
    const pages = find.infiniteOptions((n: number) => n, { initialPageParam: 2, getNextPageParam: () => undefined });
    expect(await client.fetchInfiniteQuery(pages)).toMatchObject({ pages: [undefined] });
  });

  it("fails with the RpcError of the call", async () => {
    const { double } = createQueries(methods, session);
    const error: unknown = await client.fetchQuery(double.queryOptions(-1)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: "out_of_range", details: { n: -1 } });
  });

  it("cancels the call in the handler when nobody observes the query any more", async () => {
    const { never } = createQueries(methods, session);
    const unsubscribe = new QueryObserver(client, never.queryOptions(1)).subscribe(() => {});
    // A second call shows that the first one has reached its handler.
    await client.fetchQuery(createQueries(methods, session).double.queryOptions(1));
    unsubscribe();
    expect(await cancelled).toMatchObject({ code: "cancelled" });
  });

  it("gives the options of a call to it", async () => {
    const { never } = createQueries(methods, session);
    const late = client.fetchQuery(never.queryOptions(1, { timeoutMs: -1 }));
    await expect(late).rejects.toMatchObject({ code: "deadline_exceeded", refused: true });
  });

  it("gathers the items of a stream, all or the latest", async () => {
    const { countTo } = createQueries(methods, session);
    expect(await client.fetchQuery(countTo.streamedOptions(4))).toEqual([1, 2, 3, 4]);
    client.clear();
    expect(await client.fetchQuery(countTo.streamedOptions(4, { keep: 2 }))).toEqual([3, 4]);
    const again = { ...countTo.streamedOptions(2, { refetchMode: "append" }), staleTime: 0 };
    await client.fetchQuery(again);
    expect(await client.fetchQuery(again)).toEqual([1, 2, 1, 2]);
  });

  it("mutates, streams to the callee and notifies", async () => {
    const { double, sum, note, clear } = createQueries(methods, session);
    const mutate = <Input, Output>(options: { mutationFn?: unknown }, input: Input): Promise<Output> =>
      client
        .getMutationCache()
        .build<Output, Error, Input, unknown>(client, options as object)
        .execute(input);
    expect(await mutate(double.mutationOptions(), 21)).toBe(42);
    expect(await mutate(sum.mutationOptions(), [1, 2, 3])).toBe(6);
    await mutate(note.mutationOptions(), 5);
    await mutate(note.mutationOptions(), 6);
    await mutate(clear.mutationOptions(), 1);
    expect(noted).toEqual([6]);
    expect(double.mutationOptions().mutationKey).toEqual(["test.v1.Queries", "double"]);
  });

  it("does nothing while there is no input", () => {
    const { double, countTo } = createQueries(methods, session);
    expect(double.queryOptions(skipToken)).toEqual({ queryKey: ["test.v1.Queries", "double"], queryFn: skipToken });
    expect(countTo.streamedOptions(skipToken).queryFn).toBe(skipToken);
  });

  it("keeps servers apart by their scope", async () => {
    const eu = createQueries(methods, session, { scope: "eu" });
    const us = createQueries(methods, session, { scope: "us" });
    await client.fetchQuery(eu.double.queryOptions(1));
    expect(client.getQueryData(eu.double.queryKey(1))).toBe(2);
    expect(client.getQueryData(us.double.queryKey(1))).toBeUndefined();
  });
});
