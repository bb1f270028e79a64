import { createConnection, createSession, interceptCaller, type Session } from "@quicrpc/core";
import { callTimings } from "@quicrpc/core/measure";
import { timedRouter } from "../../services/src/timed-router.js";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, InnerCalls, uncheckedCodec } from "@quicrpc/core/generated";
import { pack, unpack } from "@quicrpc/core/internal";
import { durableRouter, resumableCalls } from "@quicrpc/durable/generated";
import { expect, it } from "vitest";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const service = { name: "test.v1.Resumable", id: 4720 };
const methods = {
  count: defineMethod(service, "server_stream", "count", {
    id: 1,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number>(),
    extension: resumableCalls,
  }),
  sum: defineMethod(service, "client_stream", "sum", {
    id: 2,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number[]>(),
    extension: resumableCalls,
  }),
  echo: defineMethod(service, "duplex", "echo", {
    id: 3,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number>(),
    extension: resumableCalls,
  }),
};
const router = durableRouter(
  createRouter(methods, {
    count: async function* (upTo) {
      for (let i = 0; i < upTo; i++) yield i;
    },
    sum: async (items) => {
      const all: number[] = [];
      for await (const item of items) all.push(item);
      return all;
    },
    echo: async function* (items) {
      for await (const item of items) yield item;
    },
  }),
);

it.each([
  ["", router, []],
  [", and are measured", timedRouter(router, () => {}), [callTimings(() => {})]],
] as const)("streams outlive their sessions%s", async (_, served, interceptors) => {
  const servers: Session[] = [];
  const healing = createConnection(
    async () => {
      const [near, far] = createMemoryPair();
      servers.push(createSession(far, { routers: [served] }));
      return createSession(near);
    },
    { backoff: { initialMs: 1 } },
  );
  const connection = interceptCaller(healing, interceptors);
  const kill = (): void => void servers.at(-1)?.close({ closeCode: 1 });
  /** Until what was written has left, on a session. */
  const underWay = async (): Promise<void> => {
    do await turn();
    while (healing.session === undefined);
  };
  const taken: number[] = [];
  for await (const item of connection.serverStream(methods.count, 10)) {
    taken.push(item);
    if (item % 3 === 0) kill();
  }
  expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const sent = (async function* () {
    for (let i = 0; i < 10; i++) {
      yield i;
      if (i % 3 === 0) {
        await underWay();
        kill();
      }
    }
  })();
  expect(await connection.clientStream(methods.sum, sent)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const { readable, writable } = connection.duplex(methods.echo);
  const writer = writable.getWriter();
  const back: number[] = [];
  const reading = (async () => {
    for await (const item of readable) back.push(item);
  })();
  for (let i = 0; i < 10; i++) {
    await writer.write(i);
    if (i % 3 === 0) {
      await underWay();
      kill();
    }
  }
  await writer.close();
  await reading;
  expect(back).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(servers.length).toBeGreaterThan(5);
  await healing.close();
});

it("a handler can make calls of the same server's other methods", async () => {
  const twice = defineMethod({ name: "test.v1.Plain", id: 4721 }, "unary", "twice", {
    id: 1,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number>(),
  });
  const doubling = createRouter(
    { count: methods.count },
    {
      count: async function* (upTo, context) {
        const calls = new InnerCalls(context, { maxConcurrent: 1, maxMs: 10_000 });
        try {
          for (let i = 0; i < upTo; i++) {
            const response = await calls.call("test.v1.Plain/twice", () => pack(i));
            yield unpack(response, 0, response.length) as number;
          }
        } finally {
          calls.end();
        }
      },
    },
  );
  const [near, far] = createMemoryPair();
  const routers = [durableRouter(doubling), createRouter({ twice }, { twice: (value) => value * 2 })];
  const server = createSession(far, { routers });
  const connection = createConnection(async () => createSession(near));
  const items: number[] = [];
  for await (const item of connection.serverStream(methods.count, 3)) items.push(item);
  expect(items).toEqual([0, 2, 4]);
  await connection.close();
  await server.close();
});
