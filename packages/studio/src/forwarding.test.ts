import {
  type Caller,
  type CallOptions,
  createLocalCaller,
  createSession,
  type Router,
  rpcError,
  type Session,
} from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { CallTimings } from "@quicrpc/core/measure";
import type { ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { createReflection, createReflectionClient, describedMethod, type ServiceDescription } from "@quicrpc/services";
import { blobCalls } from "@quicrpc/blobs/generated";
import { expect, it } from "vitest";
import { z } from "zod";
import { watchCarrier } from "./carrier.js";
import { forwardingRouter } from "./forwarding.js";

const service = { name: "demo.v1.Far", id: 77 };
const value = uncheckedCodec<unknown>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: value, output: value }),
  headers: defineMethod(service, "unary", "headers", { id: 2, output: value }),
  keys: defineMethod(service, "unary", "keys", {
    id: 3,
    input: zodCodec(z.map(z.number(), z.string())),
    output: value,
  }),
};
const router = createRouter(methods, {
  echo: (input) => input,
  keys: (map) => [...map.keys()],
  headers: (_, context) => {
    context.responseMetadata.set("x-head", "1");
    context.trailers.set("x-tail", "2");
    return Object.fromEntries(context.metadata);
  },
});

async function forwarded(
  routers: readonly Router[],
  told: (call: string, timings: CallTimings) => void = () => {},
  reflection?: Router,
): Promise<Session> {
  const [ours, theirs] = createMemoryPair();
  const forwarding = await forwardingRouter(createLocalCaller(routers), told, reflection);
  createSession(theirs, { routers: [forwarding], onError: () => {} });
  return createSession(ours);
}

it("passes on values that JSON has not, metadata and trailers; a call's name ends here, and its timings are told", async () => {
  const told: [string, CallTimings][] = [];
  const session = await forwarded([router, createReflection([router])], (...given) => told.push(given));
  const sent = { at: new Date(0), big: 2n ** 60n, bytes: Uint8Array.of(1, 2) };
  const map = new Map([[1, "a"]]);
  const { services } = await createReflectionClient(session).list();
  const far = services.find(({ name }) => name === "demo.v1.Far") as ServiceDescription;
  const [echo, headers, keys] = far.methods.map((method) => describedMethod(far, method));
  expect(await session.start(echo as typeof methods.echo, sent)).toEqual(sent);
  expect(await session.start(keys as never as typeof methods.keys, map)).toEqual([1]);
  const seen: string[] = [];
  const answer = await session.start(headers as typeof methods.headers, undefined, {
    metadata: { "studio-call": "7", tenant: "north" },
    onResponseMetadata: (received) => seen.push(String(received.get("x-head"))),
    onTrailers: (received) => seen.push(String(received.get("x-tail"))),
  });
  expect(answer).toEqual({ tenant: "north" });
  expect(seen).toEqual(["1", "2"]);
  expect(told).toEqual([["7", expect.objectContaining({ totalMs: expect.any(Number) })]]);
});

it("sends a call as its page says: on a stream of its own, compressed; what it says ends here", async () => {
  const made: CallOptions[] = [];
  const local = createLocalCaller([router, createReflection([router])]);
  const target = {
    start: (method: never, input: never, options: CallOptions = {}) => {
      made.push(options);
      return local.start(method, input, options) as never;
    },
  } as unknown as Caller;
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers: [await forwardingRouter(target, () => {})], onError: () => {} });
  const session = createSession(ours);
  const called = async (metadata: Record<string, string>): Promise<CallOptions> => {
    made.length = 0;
    expect(await session.start(methods.headers, undefined, { metadata })).toEqual({});
    const [options] = made;
    if (options === undefined) throw new Error("no call was made");
    return options;
  };
  expect(await called({ "studio-via": "stream", "studio-compress": "true" })).toMatchObject({
    via: "stream",
    compress: true,
  });
  const plain = await called({ "studio-via": "else", "studio-compress": "else" });
  expect(plain.via).toBeUndefined();
  expect(plain.compress).toBeUndefined();
});

it("of a server without reflection, the caller learns why", async () => {
  const session = await forwarded([router]);
  await expect(createReflectionClient(session).list()).rejects.toMatchObject({ code: "unimplemented" });
});

it("a reflection that is given stands for the server's own, and what it describes is forwarded", async () => {
  const other = createRouter({ echo: methods.echo }, { echo: () => expect.unreachable("it is described, not called") });
  for (const far of [[router], [router, createReflection([router])]]) {
    const session = await forwarded(far, undefined, createReflection([other]));
    const { services } = await createReflectionClient(session).list();
    expect(services.map(({ name, methods: its }) => [name, its.map((each) => each.name)])).toEqual([
      ["demo.v1.Far", ["echo"]],
      ["quicrpc.v1.Reflection", ["describe", "list"]],
    ]);
    expect(await session.start(methods.echo, { big: 2n ** 60n })).toEqual({ big: 2n ** 60n });
    await expect(session.start(methods.headers, undefined)).rejects.toMatchObject({ code: "unimplemented" });
  }
});

const described = (id: number, ids: readonly number[], name = "demo.v1.Evil"): ServiceDescription => ({
  name,
  id,
  methods: ids.map((each, index) => ({
    name: `m${index}`,
    id: each,
    kind: "unary",
    idempotent: false,
    takes: "value",
    gives: "value",
  })),
});

it.each([
  ["two methods of one id", described(9, [1, 1])],
  ["an id that is none", described(70_000, [1])],
  ["a method's id that is none", described(9, [1 << 20])],
  ["the id of the process's own service", described(watchCarrier.service.id, [1])],
])("a server that describes %s is served as far as it can be", async (_, evil) => {
  const { list } = (await import("@quicrpc/services")).reflectionMethods;
  const lying = createRouter({ list }, { list: () => ({ services: [evil] }) });
  const session = await forwarded([lying]);
  expect((await createReflectionClient(session).list()).services).toEqual([evil]);
});

it("passes blobs on, both ways, as their receivers read them", async () => {
  const blobs = blobCalls({ input: [{ name: "file" }], output: [{ name: "file" }] });
  const turn = defineMethod(service, "unary", "turn", { id: 9, input: value, output: value, blobs });
  const turning = createRouter(
    { turn },
    {
      turn: async (input) => {
        const { file, note } = input as { file: ReceivedBlob; note: string };
        const bytes = await file.bytes();
        return { note, file: { content: new Blob([bytes.reverse()]), name: `turned ${file.name}`, type: file.type } };
      },
    },
  );
  const session = await forwarded([turning, createReflection([turning])]);
  const { services } = await createReflectionClient(session).list();
  const far = services.find(({ name }) => name === "demo.v1.Far") as ServiceDescription;
  const [method] = far.methods.map((each) => describedMethod(far, each));
  const content = new Blob([Uint8Array.of(1, 2, 3)], { type: "x/y" });
  const answer = await session.start(method as typeof turn, { note: "n", file: { content, name: "a" } });
  const { note, file } = answer as { note: string; file: ReceivedBlob };
  expect([note, file.name, file.type, file.length]).toEqual(["n", "turned a", "x/y", 3]);
  expect(await file.bytes()).toEqual(Uint8Array.of(3, 2, 1));
});

it("passes on the names of declared errors, with their details", async () => {
  const failing = {
    unary: defineMethod(service, "unary", "unary", {
      id: 1,
      output: value,
      errors: {
        EMPTY: { code: "failed_precondition", details: zodCodec(z.object({ left: z.bigint(), at: z.date() })) },
        GONE: { code: "not_found" },
      },
    }),
    items: defineMethod(service, "server_stream", "items", {
      id: 2,
      output: value,
      errors: { CUT: { code: "data_loss", details: zodCodec(z.string()) } },
    }),
  };
  let turn = 0;
  const details = { left: 2n ** 60n, at: new Date(0) };
  const failingRouter = createRouter(failing, {
    unary() {
      if (turn++ % 2 === 1) throw rpcError(failing.unary, "GONE", undefined, { message: "gone" });
      throw rpcError(failing.unary, "EMPTY", details, { message: "none left" });
    },
    *items() {
      yield 1;
      throw rpcError(failing.items, "CUT", "here");
    },
  });
  const session = await forwarded([failingRouter, createReflection([failingRouter])]);
  const { services } = await createReflectionClient(session).list();
  const far = services.find(({ name }) => name === "demo.v1.Far") as ServiceDescription;
  const [items, unary] = far.methods.map((method) => describedMethod(far, method));
  const empty = { code: "failed_precondition", reason: "EMPTY", message: "none left", details };
  for (const expected of [empty, { code: "not_found", reason: "GONE", details: undefined }, empty])
    await expect(session.start(unary as typeof failing.unary, undefined)).rejects.toMatchObject(expected);
  const received: unknown[] = [];
  const reading = (async () => {
    for await (const item of session.start(items as typeof failing.items, undefined)) received.push(item);
  })();
  await expect(reading).rejects.toMatchObject({
    code: "data_loss",
    reason: "CUT",
    details: "here",
  });
  expect(received).toEqual([1]);
});
