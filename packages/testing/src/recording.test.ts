import { type Caller, interceptCaller, RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { expect, it, onTestFinished } from "vitest";
import { recordCalls } from "./record-calls.js";
import { replayCalls } from "./replay-calls.js";
import { createSessionPair } from "./sessions.js";

const service = { name: "demo.v1.Shop", id: 77 };
const value = uncheckedCodec<unknown>();
const both = { input: value, output: value };
const methods = {
  next: defineMethod(service, "unary", "next", { id: 1, ...both }),
  fail: defineMethod(service, "unary", "fail", { id: 2, ...both }),
  list: defineMethod(service, "server_stream", "list", { id: 3, ...both }),
  sum: defineMethod(service, "client_stream", "sum", { id: 4, ...both }),
  chat: defineMethod(service, "duplex", "chat", { id: 5, ...both }),
  say: defineMethod(service, "notify", "say", { id: 6, input: value }),
};

let count = 0;
const router = createRouter(methods, {
  next: (input, { responseMetadata, trailers }) => {
    responseMetadata.set("served-by", "eu-1");
    trailers.set("cost", "3");
    return { input, count: ++count };
  },
  fail: () => {
    const metadata = { "retry-after-ms": "5" };
    throw new RpcError("out_of_range", "none left", { details: { most: 2n ** 60n }, metadata });
  },
  list: async function* (input) {
    for (let i = 0; i < (input as number); i++) yield i;
    throw new RpcError("unavailable", "the shop closes");
  },
  sum: async (items) => {
    let sum = 0;
    for await (const item of items) sum += item as number;
    return sum;
  },
  chat: async function* (items) {
    for await (const item of items) yield [item, ++count];
  },
  say: () => {},
});

function session(): Session {
  const pair = createSessionPair({ server: { routers: [router], onError: () => {} } });
  onTestFinished(() => pair.close());
  return pair.client;
}

/** Makes calls to the server, and then to a recording of these calls. Returns the results of both runs. */
async function twice<Seen>(run: (caller: Caller) => Promise<Seen>): Promise<readonly [Seen, Seen]> {
  const recorder = recordCalls();
  const seen = await run(interceptCaller(session(), [recorder.interceptor]));
  return [seen, await run(replayCalls(recorder.text()))];
}

const failure = (error: unknown): unknown => {
  const { code, message, details, metadata, method } = error as RpcError;
  return { code, message, details, metadata: [...metadata], method };
};

/** Reads a stream to its end. Returns its items, and the error with which it failed. */
async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const got: unknown[] = [];
  try {
    for await (const item of items) got.push(item);
  } catch (error) {
    got.push(failure(error));
  }
  return got;
}

/** Sends each message after the response to the previous message. */
async function dialogue(caller: Caller, messages: readonly unknown[]): Promise<unknown[]> {
  const { readable, writable } = caller.start(methods.chat, undefined);
  const [writer, reader] = [writable.getWriter(), readable[Symbol.asyncIterator]()];
  const got: unknown[] = [];
  for (const message of messages) {
    await writer.write(message);
    got.push((await reader.next()).value);
  }
  await writer.close();
  expect(await reader.next()).toMatchObject({ done: true });
  return got;
}

const VALUES = {
  at: new Date(0),
  big: -(2n ** 62n),
  bytes: Uint8Array.of(0, 255),
  numbers: [0.5, Number.NaN, Number.NEGATIVE_INFINITY],
  nothing: null,
  $: "date",
  text: "ä\u2028\n",
};

it("replays calls of every kind as they were: values that JSON has not, metadata, errors with details", async () => {
  const [before, after] = await twice(async (caller) => {
    const told: string[] = [];
    const options = {
      onResponseMetadata: (received: Iterable<unknown>) => told.push(String([...received])),
      onTrailers: (received: Iterable<unknown>) => told.push(String([...received])),
    };
    return [
      await caller.start(methods.next, VALUES, options),
      told,
      await caller.start(methods.fail, 1).catch(failure),
      await all(caller.start(methods.list, 3)),
      await caller.start(methods.sum, [1, 2, 3]),
      await caller.start(methods.say, "a"),
      await dialogue(caller, ["a", "b"]),
    ];
  });
  expect(before[0]).toMatchObject({ input: VALUES });
  expect(before[1]).toEqual(["served-by,eu-1", "cost,3"]);
  expect(before[3]).toEqual([0, 1, 2, expect.objectContaining({ code: "unavailable" })]);
  expect(after).toEqual(before);
});

it("answers by method and messages, in whichever order calls are made, and equal ones one after the other", async () => {
  const recorder = recordCalls();
  const caller = interceptCaller(session(), [recorder.interceptor]);
  const next = (of: Caller, input: unknown): Promise<unknown> => of.start(methods.next, input);
  const [a, b, c] = [await next(caller, { x: 1, y: 2 }), await next(caller, "b"), await next(caller, { x: 1, y: 2 })];
  const [d, e] = [await dialogue(caller, ["a", "b"]), await dialogue(caller, ["a", "c"])];
  const replayed = replayCalls(recorder.text());
  expect(await next(replayed, "b")).toEqual(b);
  expect(await Promise.all([next(replayed, { y: 2, x: 1 }), next(replayed, { x: 1, y: 2 })])).toEqual([a, c]);
  await expect(next(replayed, "b")).rejects.toMatchObject({
    code: "failed_precondition",
    method: "demo.v1.Shop/next",
    message: expect.stringContaining("1, each of which has answered, and no further call of demo.v1.Shop/next"),
  });
  await expect(next(replayed, "z")).rejects.toThrow(
    'has no call of demo.v1.Shop/next that matches this one, at step 1 {"in":"z"}',
  );
  // Both begin alike, and the first one's answers are other than the second's: the recording has no third.
  expect(await dialogue(replayed, ["a", "b"])).toEqual(d);
  expect(await dialogue(replayed, ["a", "c"])).toEqual(e);
  expect(await replayed.start(methods.sum, [1]).catch((error: RpcError) => error.code)).toBe("failed_precondition");
});

it("of messages that end elsewhere than they did, or go on, it says so or leaves them", async () => {
  const recorder = recordCalls();
  const caller = interceptCaller(session(), [recorder.interceptor]);
  expect(await caller.start(methods.sum, [1, 2])).toBe(3);
  await expect(replayCalls(recorder.text()).start(methods.sum, [1])).rejects.toThrow('at step 2 {"end":true}');
  await expect(replayCalls(recorder.text()).start(methods.sum, [1, 2, 3])).rejects.toThrow('at step 3 {"in":3}');
});

it("a stream that its caller left, or that was not over, ends where it did", async () => {
  const recorder = recordCalls();
  const caller = interceptCaller(session(), [recorder.interceptor]);
  for await (const item of caller.start(methods.list, 9)) if (item === 2) break;
  const items = caller.start(methods.list, 8)[Symbol.asyncIterator]();
  expect(await items.next()).toMatchObject({ value: 0 });
  const replayed = replayCalls(recorder.text());
  expect(await all(replayed.start(methods.list, 9))).toMatchObject([0, 1, 2, { code: "cancelled" }]);
  expect(await all(replayed.start(methods.list, 8))).toMatchObject([0, { code: "failed_precondition" }]);
  await items.return?.();
});

it("a call that is cancelled while its recording is replayed ends so", async () => {
  const recorder = recordCalls();
  await dialogue(interceptCaller(session(), [recorder.interceptor]), ["a"]);
  const aborted = new AbortController();
  const { readable } = replayCalls(recorder.text()).start(methods.chat, undefined, { signal: aborted.signal });
  const waiting = all(readable);
  aborted.abort();
  expect(await waiting).toMatchObject([{ code: "cancelled" }]);
});

it("refuses what was recorded by another schema, or is no recording", async () => {
  const hashed = (fingerprint: number): typeof methods.next => {
    return defineMethod(service, "unary", "next", { id: 1, ...both, fingerprint });
  };
  const recorder = recordCalls();
  await interceptCaller(session(), [recorder.interceptor]).start(hashed(1), "a");
  expect(await replayCalls(recorder.text()).start(hashed(1), "a")).toMatchObject({ input: "a" });
  await expect(replayCalls(recorder.text()).start(hashed(2), "a")).rejects.toThrow("has changed since");
  expect(() => replayCalls("{}")).toThrow(TypeError);
});

it("keeps so much and no more, says so, and the calls go on", async () => {
  const recorder = recordCalls({ maxLength: 100 });
  const caller = interceptCaller(session(), [recorder.interceptor]);
  expect(
    await caller.start(
      methods.sum,
      Array.from({ length: 1000 }, () => 1),
    ),
  ).toBe(1000);
  expect(() => recorder.text()).toThrow(
    new RangeError(
      "the recorded messages exceed 100 characters: record fewer calls, or pass a larger maxLength to recordCalls",
    ),
  );
});

it("refuses calls with blobs", async () => {
  const caller = interceptCaller(session(), [recordCalls().interceptor]);
  const method = { ...methods.next, blobs: {} as never };
  await expect(caller.start(method, 1)).rejects.toMatchObject({
    code: "unimplemented",
    message: "demo.v1.Shop/next has blobs, which cannot be recorded",
  });
});

it("request metadata is not kept", async () => {
  const recorder = recordCalls();
  await interceptCaller(session(), [recorder.interceptor]).start(methods.next, 1, { metadata: { token: "secret" } });
  expect(recorder.text()).not.toContain("secret");
});

it("refuses a recording of an earlier version, whose values had other marks", () => {
  expect(() => replayCalls('{"version":1,"calls":[]}')).toThrow("record the calls again");
  expect(JSON.parse(recordCalls().text())).toMatchObject({ version: 2 });
});
