import { type CallContext, createLocalCaller, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { pack } from "@quicrpc/core/internal";
import { expect, it } from "vitest";
import { repeat, repeatRouter } from "./inner-calls.js";

it("makes calls of the same server within a call", async () => {
  const text = uncheckedCodec<string>();
  const upper = defineMethod({ name: "tools.v1.Text", id: 4803 }, "unary", "upper", {
    id: 1,
    input: text,
    output: text,
  });
  const router = createRouter({ upper }, { upper: (input) => input.toUpperCase() });
  const names: string[] = [];
  const caller = createLocalCaller([router, repeatRouter], {
    interceptors: [(call, next) => (names.push(call.method.name), next(call))],
  });
  const run = (method: string) => caller.unary(repeat, { method, messages: [pack("a"), pack("b")] });
  expect(await run("tools.v1.Text/upper")).toEqual([pack("A"), pack("B")]);
  expect(names).toEqual(["repeat", "upper", "upper"]);
  await expect(run("tools.v1.Text/lower")).rejects.toBeInstanceOf(RpcError);
});

it("cancels the calls with their outer call, and starts no more", async () => {
  const aborted: unknown[] = [];
  const waiting = defineMethod({ name: "tools.v1.Waiting", id: 4804 }, "unary", "wait", { id: 1 });
  let started = 0;
  const wait = (_: unknown, { signal }: CallContext): Promise<void> => {
    started++;
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        aborted.push(signal.reason);
        reject(signal.reason as Error);
      });
    });
  };
  const caller = createLocalCaller([createRouter({ wait: waiting }, { wait }), repeatRouter]);
  const stop = new AbortController();
  const input = { method: "tools.v1.Waiting/wait", messages: Array.from({ length: 9 }, () => pack(null)) };
  const call = caller.unary(repeat, input, { signal: stop.signal });
  await expect.poll(() => started).toBe(8);
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(() => aborted).toHaveLength(8);
  expect(aborted[0]).toMatchObject({ code: "cancelled" });
  expect(started).toBe(8);
});
