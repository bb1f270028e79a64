import { expect, it } from "vitest";
import { RpcError } from "@quicrpc/core";
import { createOutbox } from "./outbox.js";

/** Calls to which the test responds with a result or an error. */
class Calls {
  readonly made: { items: readonly string[]; key: string; answer: () => void; fail: (error: unknown) => void }[] = [];
  private onMade: () => void = () => {};

  readonly send = (items: readonly string[], key: string): Promise<void> =>
    new Promise((answer, fail) => {
      this.made.push({ items, key, answer, fail });
      this.onMade();
    });

  async until(count: number): Promise<void> {
    while (this.made.length < count) await new Promise<void>((resolve) => (this.onMade = resolve));
  }
}

it("an outbox sends one call at a time, and together what is added meanwhile, in order", async () => {
  const calls = new Calls();
  const outbox = createOutbox({ send: calls.send, maxItems: 2 });
  outbox.add("a");
  await calls.until(1);
  for (const item of ["b", "c", "d"]) outbox.add(item);
  expect(calls.made).toHaveLength(1);
  expect(outbox.waiting).toEqual(["a", "b", "c", "d"]);
  calls.made[0]?.answer();
  await calls.until(2);
  expect(outbox.waiting).toEqual(["b", "c", "d"]);
  calls.made[1]?.answer();
  await calls.until(3);
  calls.made[2]?.answer();
  await outbox.empty();
  expect(calls.made.map(({ items }) => items)).toEqual([["a"], ["b", "c"], ["d"]]);
  expect(new Set(calls.made.map(({ key }) => key)).size).toBe(3);
  outbox.add("e");
  await calls.until(4);
  expect(calls.made[3]?.items).toEqual(["e"]);
});

it("what fails for good is told, and the rest is sent", async () => {
  const calls = new Calls();
  const failed: unknown[] = [];
  const outbox = createOutbox({ send: calls.send, onError: ({ code }, items) => failed.push([code, items]) });
  outbox.add("a");
  outbox.add("b");
  await calls.until(1);
  outbox.add("c");
  calls.made[0]?.fail(new RpcError("permission_denied", "not here"));
  await calls.until(2);
  calls.made[1]?.answer();
  await outbox.empty();
  expect(failed).toEqual([["permission_denied", ["a", "b"]]]);
  expect(calls.made[1]?.items).toEqual(["c"]);
  expect(outbox.waiting).toEqual([]);
});

it("a bounded number of items waits", async () => {
  const calls = new Calls();
  const outbox = createOutbox({ send: calls.send, maxWaiting: 2 });
  outbox.add("a");
  await calls.until(1);
  expect(outbox.full).toBe(false);
  outbox.add("b");
  expect(outbox.full).toBe(true);
  expect(() => outbox.add("c")).toThrow(expect.objectContaining({ code: "resource_exhausted" }));
  expect(() => createOutbox({ send: calls.send, maxItems: 0 })).toThrow(TypeError);
});
