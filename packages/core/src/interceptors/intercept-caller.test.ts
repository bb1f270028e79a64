import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { expiries } from "../call/expiries.js";
import { uncheckedCodec } from "../call/messages/codec.js";
import type { CallOptions } from "../call/options.js";
import { defineMethod } from "../client/define-method.js";
import { RpcError } from "../errors.js";
import { Metadata } from "../metadata.js";
import { createRouter } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import { createMemoryPair } from "../transport/memory.js";
import { bearerToken } from "./authentication.js";
import { concurrencyLimit } from "./concurrency-limit.js";
import { interceptCaller } from "./intercept-caller.js";
import type { Interceptor } from "./interceptor.js";
import { pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Held", id: 81 };
const number = uncheckedCodec<number>();
const methods = {
  hang: defineMethod(service, "unary", "hang", { id: 1, input: number, output: number }),
  count: defineMethod(service, "server_stream", "count", { id: 2, input: number, output: number }),
};
const never = new Promise<never>(() => {});

beforeEach(() => startVirtualTime());
afterEach(() => void vi.useRealTimers());

function calling(interceptor: Interceptor) {
  const [ours, theirs] = createMemoryPair();
  const router = createRouter(methods, { hang: () => never, count: () => [1, 2] });
  createSession(theirs, { routers: [router] });
  return interceptCaller(createSession(ours), [interceptor]);
}

/** Returns a function that returns the code of a call's error, or "pending". */
function outcomeOf(call: Promise<unknown>): () => string {
  let outcome = "pending";
  call.then(
    () => (outcome = "answered"),
    (error: RpcError) => (outcome = error.code),
  );
  return () => outcome;
}

const ends: readonly [string, () => CallOptions, string][] = [
  ["deadline", () => ({ timeoutMs: 100 }), "deadline_exceeded"],
  ["signal", () => ({ signal: timeout(100) }), "cancelled"],
  ["signal that has fired before", () => ({ signal: AbortSignal.abort() }), "cancelled"],
];

/** Returns a signal like `AbortSignal.timeout`, which uses the virtual clock. */
function timeout(ms: number): AbortSignal {
  const controller = new AbortController();
  expiries.add(ms, () => controller.abort());
  return controller.signal;
}

it.each(ends)("a call whose token does not come ends with its %s", async (_, optionsOf, code) => {
  const caller = calling(bearerToken(() => never));
  const options = optionsOf();
  const unary = outcomeOf(caller.unary(methods.hang, 1, options));
  const stream = outcomeOf(caller.serverStream(methods.count, 1, options)[Symbol.asyncIterator]().next());
  await pass(101);
  expect([unary(), stream()]).toEqual([code, code]);
});

it.each(ends)("a call that waits for its turn ends with its %s, and leaves the queue", async (_, optionsOf, code) => {
  const caller = calling(concurrencyLimit({ maxCalls: 1, maxQueued: 1 }));
  const first = outcomeOf(caller.unary(methods.hang, 1, { timeoutMs: 1000 }));
  const second = outcomeOf(caller.unary(methods.hang, 2, optionsOf()));
  await pass(101);
  expect([first(), second()]).toEqual(["pending", code]);
  const third = outcomeOf(caller.unary(methods.hang, 3, { timeoutMs: 2000 }));
  await pass(1000);
  expect([first(), third()]).toEqual(["deadline_exceeded", "pending"]);
  await pass(1000);
  expect(third()).toBe("deadline_exceeded");
});

it("an interceptor may still answer in place of a call whose time is over", async () => {
  const caller = calling(async (call, next) => {
    try {
      return await next(call);
    } catch (error) {
      const output = RpcError.from(error).code === "deadline_exceeded" ? 7 : 8;
      return { output, outputs: undefined, responseMetadata: new Metadata(), trailers: new Metadata() };
    }
  });
  const answer = caller.unary(methods.hang, 1, { timeoutMs: 100 });
  await pass(101);
  expect(await answer).toBe(7);
});
