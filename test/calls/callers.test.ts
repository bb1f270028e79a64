import {
  type Caller,
  createCaller,
  createSession,
  type DuplexStream,
  interceptCaller,
  type ItemStream,
  RpcError,
  type TypedCaller,
} from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createQueries } from "@quicrpc/query";
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";

const service = { name: "test.v1.Callers", id: 31 };
const number = uncheckedCodec<number>();
const text = uncheckedCodec<string>();
const methods = {
  double: defineMethod(service, "unary", "double", { id: 1, input: number, output: number }),
  note: defineMethod(service, "notify", "note", { id: 2, input: text }),
  count: defineMethod(service, "server_stream", "count", { id: 3, input: number, output: number }),
  sum: defineMethod(service, "client_stream", "sum", { id: 4, input: number, output: number }),
  spell: defineMethod(service, "duplex", "spell", { id: 5, input: number, output: text }),
};

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) taken.push(item);
  return taken;
}

/** The primitive and the method for each kind must do the same. */
const KINDS_OF_CALLER = ["a caller by createCaller", "an object with only start"] as const;

describe.each(KINDS_OF_CALLER)("%s, which is no session", (kind) => {
  const noted: string[] = [];
  let session: TypedCaller & { close(): Promise<unknown> };
  let caller: Caller;
  const seen: string[] = [];

  beforeEach(() => {
    noted.length = 0;
    seen.length = 0;
    const router = createRouter(methods, {
      double: (n) => n * 2,
      note: (line) => void noted.push(line),
      *count(n) {
        for (let i = 0; i < n; i++) yield i;
      },
      async sum(items) {
        let sum = 0;
        for await (const item of items) sum += item;
        return sum;
      },
      async *spell(items) {
        for await (const item of items) yield String(item);
      },
    });
    const [near, far] = createMemoryPair();
    createSession(far, { routers: [router] });
    session = createSession(near);
    caller =
      kind === "a caller by createCaller"
        ? createCaller((method, input, options) => {
            seen.push(method.name);
            return session.start(method, input, options);
          })
        : { start: (method, input, options) => session.start(method, input, options) };
  });
  afterEach(async () => {
    await session.close();
  });

  it("makes calls of every kind", async () => {
    expect(await caller.start(methods.double, 4)).toBe(8);
    await caller.start(methods.note, "a");
    expect(await all(caller.start(methods.count, 3))).toEqual([0, 1, 2]);
    expect(await caller.start(methods.sum, [1, 2])).toBe(3);
    const { readable, writable } = caller.start(methods.spell, undefined);
    const writer = writable.getWriter();
    await writer.write(7);
    await writer.close();
    expect(await all(readable)).toEqual(["7"]);
    expect(noted).toEqual(["a"]);
  });

  it("has types by the kind of the method", () => {
    expectTypeOf(() => caller.start(methods.double, 1)).returns.toEqualTypeOf<Promise<number>>();
    expectTypeOf(() => caller.start(methods.count, 1)).returns.toEqualTypeOf<ItemStream<number>>();
    expectTypeOf(() => caller.start(methods.spell, undefined)).returns.toEqualTypeOf<DuplexStream<number, string>>();
    const wrong = (): unknown[] => [
      // @ts-expect-error -- the input is a number
      caller.start(methods.double, "4"),
      // @ts-expect-error -- the input is a source of numbers
      caller.start(methods.sum, 4),
      // @ts-expect-error -- messages are written to the answer
      caller.start(methods.spell, [4]),
    ];
    expect(wrong).toBeTypeOf("function");
  });

  it("takes interceptors, which stand around its calls, once", async () => {
    const around: string[] = [];
    const intercepted = interceptCaller(caller, [
      (call, next) => {
        around.push(call.method.name);
        return next(call);
      },
    ]);
    expect(await intercepted.start(methods.double, 4)).toBe(8);
    expect(await all(intercepted.start(methods.count, 1))).toEqual([0]);
    if ("unary" in intercepted) {
      const typed = intercepted as TypedCaller;
      expect(await typed.unary(methods.double, 4)).toBe(8);
      expect(await typed.clientStream(methods.sum, [4])).toBe(4);
      expect(around).toEqual(["double", "count", "double", "sum"]);
      expect(seen).toEqual(around);
    } else {
      expect(around).toEqual(["double", "count"]);
    }
  });

  it("serves queries", async () => {
    const { double } = createQueries(methods, caller);
    const client = new QueryClient();
    expect(await client.fetchQuery(double.queryOptions(2))).toBe(4);
    client.clear();
  });
});

describe("createCaller", () => {
  it("has a method for each kind, made of its one function", async () => {
    const started: unknown[] = [];
    const caller = createCaller((method, input) => {
      started.push([method.kind, input]);
      return Promise.reject(new RpcError("unimplemented", "none"));
    });
    const failure = { code: "unimplemented" };
    await expect(caller.unary(methods.double, 1)).rejects.toMatchObject(failure);
    await expect(caller.notify(methods.note, "a")).rejects.toMatchObject(failure);
    await expect(caller.clientStream(methods.sum, [1])).rejects.toMatchObject(failure);
    await expect(caller.start(methods.double, 2)).rejects.toMatchObject(failure);
    expect(started).toEqual([
      ["unary", 1],
      ["notify", "a"],
      ["client_stream", [1]],
      ["unary", 2],
    ]);
  });
});
