import { getEventListeners } from "node:events";
import { RpcError, type CallOptions, type Code } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { kinds, type Pair } from "./kinds.js";
import { methods, unserved } from "./service.js";

const codes: Code[] = [
  "cancelled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
];

const carriers: { via: "lane" | "stream" }[] = [{ via: "lane" }, { via: "stream" }];

describe.each(kinds)("$name", (kind) => {
  describe.each(carriers)("by $via", ({ via }) => {
    let pair: Pair;
    beforeEach(async () => {
      pair = await kind.connect();
    });
    afterEach(() => pair.close());

    const options = (more: CallOptions = {}): CallOptions => ({ via, ...more });
    const echo = (text: string, more?: CallOptions) => pair.client.unary(methods.echo, { text }, options(more));
    const wait = (text: string, more?: CallOptions) => pair.client.unary(methods.wait, { text }, options(more));
    const items = (n: number, more: object = {}, call?: CallOptions) =>
      pair.client.serverStream(methods.items, { n, ...more }, options(call));
    const chat = (call?: CallOptions) => pair.client.duplex(methods.chat, options(call));
    /** The session still serves. */
    const alive = async () => expect(await echo("alive")).toEqual({ text: "alive" });

    describe("basic", () => {
      it("C1 unary echo returns the value", async () => {
        expect(await echo("größe ✓")).toEqual({ text: "größe ✓" });
      });

      it("C4 server stream: N items in order, then a clean end", async () => {
        expect(await collect(items(1000))).toEqual(range(1000));
      });

      it("C5 server stream with zero items", async () => {
        expect(await collect(items(0))).toEqual([]);
      });

      it("C2 client stream: N items, one result · C3 zero items", async () => {
        for (const source of [[1, 2, 3], asyncFrom([1, 2, 3]), readableFrom([1, 2, 3])]) {
          expect(await pair.client.clientStream(methods.sum, source, options())).toBe(6);
        }
        expect(await pair.client.clientStream(methods.sum, [], options())).toBe(0);
      });

      it("C6 half duplex: all in, then all out", async () => {
        const { readable, writable } = chat();
        const writer = writable.getWriter();
        for (const text of ["a", "b"]) await writer.write(text);
        await writer.close();
        expect(await collect(readable)).toEqual(["HELLO", "A", "B", "BYE"]);
      });

      it("C7 full duplex: reply k before request k+1 · C9 the server speaks first", async () => {
        const { readable, writable } = chat();
        const iterator = readable[Symbol.asyncIterator]();
        const writer = writable.getWriter();
        expect(await iterator.next()).toEqual({ done: false, value: "HELLO" });
        for (const text of ["a", "b", "c"]) {
          await writer.write(text);
          expect((await iterator.next()).value).toBe(text.toUpperCase());
        }
        await writer.close();
        expect((await iterator.next()).value).toBe("BYE");
        expect(await iterator.next()).toMatchObject({ done: true });
      });

      it("C8 duplex with zero items from the caller", async () => {
        const { readable, writable } = chat();
        await writable.close();
        expect(await collect(readable)).toEqual(["HELLO", "BYE"]);
      });

      it("C10 an early result of a client stream stops the sender cleanly", async () => {
        const source = endless();
        expect(await pair.client.clientStream(methods.sum, source, options())).toBe(-1);
        await source.left;
        await alive();
      });

      it("C11 unknown method: unimplemented, session lives", async () => {
        const error = await failure(pair.client.unary(unserved.method, { text: "" }, options()));
        expect(error).toMatchObject({
          code: "unimplemented",
          message: "service test.v1.Behaviour has no method with id 999 here",
        });
        await alive();
      });

      it("C12 unknown service: unimplemented, session lives", async () => {
        const error = await failure(pair.client.unary(unserved.service, { text: "" }, options()));
        expect(error).toMatchObject({ code: "unimplemented", message: "no service with id 9 is served here" });
        await alive();
      });

      it("C14 notify reaches the handler; its failure goes to the error hook", async () => {
        await pair.client.notify(methods.note, { text: "good" }, options());
        await pair.client.notify(methods.note, { text: "bad" }, options());
        await pair.witness.until("note good");
        await pair.witness.until("error test.v1.Behaviour/note");
        expect(pair.witness.errors).toMatchObject([{ error: { message: "bad note" } }]);
        await alive();
      });

      it("C14 notifications sent right before a close arrive", async () => {
        const wrong = { text: 5 } as unknown as { text: string };
        expect(await failure(pair.client.notify(methods.note, wrong, options()))).toMatchObject({
          code: "invalid_argument",
        });
        for (let i = 0; i < 100; i++) void pair.client.notify(methods.note, { text: String(i) }, options());
        await pair.client.close();
        expect(pair.witness.events).toHaveLength(100);
      });

      it("C15 the server calls the client over the same session", async () => {
        expect(await pair.client.unary(methods.callBack, { text: "back" }, options())).toEqual({ text: "back" });
        expect(await pair.server.unary(methods.echo, { text: "there" }, options())).toEqual({ text: "there" });
        expect(await collect(pair.server.serverStream(methods.items, { n: 3 }, options()))).toEqual(range(3));
      });
    });

    describe("empty and large", () => {
      it("C17 `{}` differs from nothing, in requests and responses", async () => {
        expect(await pair.client.unary(methods.blank, {}, options())).toEqual({});
        expect(await pair.client.unary(methods.blank, { text: "" }, options())).toEqual({ keys: 1 });
        expect(await pair.client.unary(methods.nothing, undefined, options())).toBeUndefined();
      });

      it("C19 300 KB request and response", async () => {
        const text = "0123456789".repeat(30_000);
        expect((await echo(text)).text === text).toBe(true);
      });

      it("C21 1,000 large calls at once", async () => {
        const texts = Array.from({ length: 1000 }, (_, i) => `${i}:${"x".repeat(20_000)}`);
        const answers = await Promise.all(texts.map((text) => echo(text)));
        expect(answers.every(({ text }, i) => text === texts[i])).toBe(true);
      });

      it("C22 20,000 small calls at once: no answer crosses", async () => {
        const answers = await Promise.all(Array.from({ length: 20_000 }, (_, i) => echo(String(i))));
        expect(answers.every(({ text }, i) => text === String(i))).toBe(true);
      });
    });

    describe("cancellation", () => {
      it("C23 aborted before the start: nothing is sent", async () => {
        const signal = AbortSignal.abort();
        expect(await failure(wait("early", { signal }))).toMatchObject({ code: "cancelled" });
        expect(await failure(collect(items(1, {}, { signal })))).toMatchObject({ code: "cancelled" });
        await alive();
        expect(pair.witness.events).toEqual([]);
      });

      it("C24 unary after the request went out: the handler's signal fires", async () => {
        const abort = new AbortController();
        const call = wait("a", { signal: abort.signal });
        await pair.witness.until("wait a");
        abort.abort();
        expect(await failure(call)).toMatchObject({ code: "cancelled" });
        await pair.witness.until("aborted a cancelled");
        await alive();
      });

      it("C26 server stream before the first item, and after some", async () => {
        const abort = new AbortController();
        const first = collect(items(0, { open: true }, { signal: abort.signal }));
        const iterator = items(3, { open: true }, { signal: abort.signal })[Symbol.asyncIterator]();
        for (const i of [0, 1, 2]) expect(await iterator.next()).toEqual({ done: false, value: { i } });
        abort.abort();
        expect(await failure(first)).toMatchObject({ code: "cancelled" });
        expect(await failure(iterator.next())).toMatchObject({ code: "cancelled" });
        await pair.witness.until("left 0");
        await pair.witness.until("left 3");
        await alive();
      });

      it.each([
        [
          "break",
          async (stream: ReadableStream<unknown>) => {
            for await (const _ of stream) break;
          },
        ],
        [
          "reader.cancel()",
          async (stream: ReadableStream<unknown>) => {
            const reader = stream.getReader();
            await reader.read();
            await reader.cancel();
          },
        ],
        [
          "iterator.return()",
          async (stream: ReadableStream<unknown>) => {
            const iterator = stream[Symbol.asyncIterator]();
            await iterator.next();
            const pending = iterator.next();
            await iterator.return?.();
            expect(await pending).toMatchObject({ done: true });
          },
        ],
      ])("C27 consumer's %s cancels the call, even while the producer waits", async (_, leave) => {
        await leave(items(1, { open: true }));
        await pair.witness.until("left 1");
        await alive();
      });

      it("C25 client stream before half-close, and after it", async () => {
        const abort = new AbortController();
        const source = endless(1);
        const open = pair.client.clientStream(methods.sum, source, options({ signal: abort.signal }));
        const closed = pair.client.clientStream(methods.sink, ["a"], options({ signal: abort.signal }));
        await Promise.all([pair.witness.until("sum"), pair.witness.until("sink")]);
        abort.abort();
        expect(await failure(open)).toMatchObject({ code: "cancelled" });
        expect(await failure(closed)).toMatchObject({ code: "cancelled" });
        await source.left;
        await pair.witness.until("sum cancelled");
        await alive();
      });

      it("C28 duplex: the sending side aborted, the receiving side left", async () => {
        const aborted = chat();
        const iterator = aborted.readable[Symbol.asyncIterator]();
        await iterator.next();
        await aborted.writable.abort(new Error("enough"));
        expect(await failure(iterator.next())).toMatchObject({ code: "cancelled" });
        await pair.witness.until("chat over");

        const left = chat();
        for await (const _ of left.readable) break;
        expect(await failure(left.writable.getWriter().write("too late"))).toMatchObject({ code: "cancelled" });
        await alive();
      });

      it("C28 duplex: aborted while a write waits", async () => {
        const { readable, writable } = pair.client.duplex(methods.stall, options());
        const writer = writable.getWriter();
        await pair.witness.until("stall");
        let stalled: Promise<unknown>;
        do {
          stalled = writer.write("x".repeat(50_000));
          stalled.catch(() => {});
        } while (
          await Promise.race([stalled.then(() => true), new Promise((resolve) => setTimeout(resolve, 20, false))])
        );
        await writer.abort(new Error("enough"));
        expect(await failure(collect(readable))).toMatchObject({ code: "cancelled" });
        await pair.witness.until("stall cancelled");
        await alive();
      });

      it("C28 duplex: an item that does not fit fails both directions", async () => {
        const { readable, writable } = chat();
        const writer = writable.getWriter();
        await expect(writer.write(5 as unknown as string)).rejects.toMatchObject({ code: "invalid_argument" });
        expect(await failure(collect(readable))).toMatchObject({ code: "invalid_argument" });
        await alive();
      });

      it("C28 a handler that wants no more items does not stall the caller", async () => {
        const { readable, writable } = pair.client.duplex(methods.enough, options());
        const writer = writable.getWriter();
        for (let i = 0; i < 50; i++) await writer.write("x".repeat(20_000));
        await writer.close();
        await pair.witness.until("enough");
        pair.witness.release.get("enough")?.();
        expect(await collect(readable)).toEqual(["enough"]);
        await alive();
      });

      it("C29 cancelling one call leaves its siblings untouched", async () => {
        const abort = new AbortController();
        const given = wait("given up", { signal: abort.signal });
        const kept = wait("kept");
        await Promise.all([pair.witness.until("wait given up"), pair.witness.until("wait kept")]);
        abort.abort();
        expect(await failure(given)).toMatchObject({ code: "cancelled" });
        await pair.witness.until("aborted given up cancelled");
        pair.witness.release.get("kept")?.();
        expect(await kept).toEqual({ text: "kept" });
      });

      it("C30 cancel after completion is a no-op", async () => {
        const abort = new AbortController();
        expect(await echo("done", { signal: abort.signal })).toEqual({ text: "done" });
        expect(await collect(items(2, {}, { signal: abort.signal }))).toEqual(range(2));
        abort.abort();
        await alive();
      });
    });

    describe("deadlines", () => {
      it("C31 unary expiry: deadline_exceeded on both ends", async () => {
        expect(await failure(wait("late", { timeoutMs: 20 }))).toMatchObject({ code: "deadline_exceeded" });
        await pair.witness.until("aborted late deadline_exceeded");
        await alive();
      });

      it("C32 server stream expiry, the items before it delivered", async () => {
        const stream = items(2, { open: true }, { timeoutMs: 100 });
        const seen: unknown[] = [];
        const error = await failure(
          (async () => {
            for await (const item of stream) seen.push(item);
          })(),
        );
        expect(error).toMatchObject({ code: "deadline_exceeded" });
        expect(seen).toEqual(range(2));
        await pair.witness.until("left 2");
      });

      it("C33 the handler sees the remaining time", async () => {
        const remaining = await pair.client.unary(methods.remaining, undefined, options({ timeoutMs: 60_000 }));
        expect(remaining).toBeGreaterThan(30_000);
        expect(remaining).toBeLessThanOrEqual(60_000);
        expect(await pair.client.unary(methods.remaining, undefined, options())).toBeNull();
      });

      it("C35 10,000 simultaneous expiries leave no timers", async () => {
        const before = timers();
        const calls = Array.from({ length: 10_000 }, (_, i) => failure(wait(String(i), { timeoutMs: 300 })));
        for (const error of await Promise.all(calls)) expect(error.code).toBe("deadline_exceeded");
        await alive();
        // Those of the handlers go when the cancels arrive.
        while (timers() > before) await new Promise(setImmediate);
      });

      it("C36 zero, negative, NaN, infinite and over-maximum timeouts", async () => {
        expect(await failure(echo("", { timeoutMs: 0 }))).toMatchObject({ code: "deadline_exceeded" });
        expect(await failure(echo("", { timeoutMs: -5 }))).toMatchObject({ code: "deadline_exceeded" });
        expect(await failure(echo("", { timeoutMs: Number.NaN }))).toMatchObject({ code: "invalid_argument" });
        expect(await echo("a", { timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ text: "a" });
        expect(await echo("b", { timeoutMs: 1e12 })).toEqual({ text: "b" });
      });
    });

    describe("errors", () => {
      it.each(codes)("C42 status code %s, on unary and on a stream", async (code) => {
        const unary = pair.client.unary(methods.fail, { code, message: `it was ${code}` }, options());
        expect(await failure(unary)).toMatchObject({ code, message: `it was ${code}` });
        expect(await failure(collect(items(0, { failWith: code })))).toMatchObject({
          code,
          message: "after the items",
        });
      });

      it.each([
        ["unicode", "größe ✓ 🎈"],
        ["whitespace", " \t\n "],
        ["8 KiB", "m".repeat(8192)],
        ["empty", ""],
      ])("C43 %s message arrives exactly", async (_, message) => {
        const error = await failure(pair.client.unary(methods.fail, { code: "aborted", message }, options()));
        expect(error.message).toBe(message);
      });

      it("C44 error details round-trip", async () => {
        const details = { a: [1, "two", null], at: { deep: true } };
        const error = await failure(
          pair.client.unary(methods.fail, { code: "aborted", message: "", details }, options()),
        );
        expect(error.details).toEqual(details);
      });

      it("C45 error after k items: all k, then the error · C46 with zero items", async () => {
        for (const n of [5, 0]) {
          const seen: unknown[] = [];
          const reading = (async () => {
            for await (const item of items(n, { failWith: "aborted" })) seen.push(item);
          })();
          expect(await failure(reading)).toMatchObject({ code: "aborted" });
          expect(seen).toEqual(range(n));
        }
      });

      it("C45 an error of a duplex call reaches both directions", async () => {
        const { readable, writable } = chat();
        const writer = writable.getWriter();
        await writer.write("a");
        await writer.write("fail");
        const seen: string[] = [];
        const reading = (async () => {
          for await (const text of readable) seen.push(text);
        })();
        expect(await failure(reading)).toMatchObject({ code: "aborted", message: "as asked" });
        expect(seen).toEqual(["HELLO", "A"]);
        expect(await failure(writer.closed)).toMatchObject({ code: "aborted" });
      });

      it("C50 an invalid item is refused at once, and a failing source fails the call", async () => {
        const wrong = pair.client.clientStream(methods.sum, [1, "two" as unknown as number], options());
        expect(await failure(wrong)).toMatchObject({ code: "invalid_argument" });
        const failing = (function* (): Iterable<number> {
          yield 1;
          throw new Error("in the source");
        })();
        const broken = pair.client.clientStream(methods.sum, failing, options());
        expect(await failure(broken)).toMatchObject({ code: "unknown", message: "in the source" });
        await alive();
      });

      it("C49 a thrown plain Error leaks neither message nor stack", async () => {
        const error = await failure(pair.client.unary(methods.crash, { text: "the secret" }, options()));
        expect(error).toMatchObject({ code: "internal", message: "the handler failed", details: undefined });
        expect(pair.witness.errors).toMatchObject([
          { error: { message: "the secret" }, method: "test.v1.Behaviour/crash" },
        ]);
      });

      it("C50 invalid input is refused with the issue's path, invalid output is internal", async () => {
        const input = { text: 5 } as unknown as { text: string };
        expect(await failure(pair.client.unary(methods.echo, input, options()))).toMatchObject({
          code: "invalid_argument",
          details: [{ path: ["text"], code: "invalid_type" }],
        });
        const error = await failure(pair.client.unary(methods.wrong, { text: "" }, options()));
        expect(error).toMatchObject({ code: "internal", message: "the handler failed" });
        expect(String(pair.witness.errors[0]?.error)).toContain("does not fit its schema");
      });
    });

    describe("session", () => {
      it("C62 a slow reader stalls the writer, and reading on delivers all", async () => {
        const n = 2000;
        const iterator = items(n, { size: 4000 })[Symbol.asyncIterator]();
        expect((await iterator.next()).value).toMatchObject({ i: 0 });
        // The session works on while the stream stalls: enough round trips for everything in flight to settle.
        let sent = -1;
        for (let calm = 0; calm < 20; ) {
          await echo("tick");
          const now = pair.witness.events.length;
          calm = now === sent ? calm + 1 : 0;
          sent = now;
        }
        expect(sent).toBeLessThan(n);
        let count = 1;
        for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
          expect(next.value.i).toBe(count++);
        }
        expect(count).toBe(n);
      });

      it("C62 a callee that does not read stalls the caller's items", async () => {
        let taken = 0;
        const source = (function* (): Iterable<string> {
          for (; taken < 2000; taken++) yield "x".repeat(4000);
        })();
        const call = pair.client.clientStream(methods.sink, source, options());
        await pair.witness.until("sink");
        let before = -1;
        for (let calm = 0; calm < 20; ) {
          await echo("tick");
          calm = taken === before ? calm + 1 : 0;
          before = taken;
        }
        expect(taken).toBeLessThan(2000);
        pair.witness.release.get("sink")?.();
        expect(await call).toBe(2000);
      });

      it("C66 calls that are over leave no listener and no timer", async () => {
        const { signal } = new AbortController();
        const before = timers();
        for (let round = 0; round < 20; round++) {
          await Promise.all([
            ...Array.from({ length: 100 }, (_, i) => echo(String(i), { signal, timeoutMs: 60_000 })),
            ...Array.from({ length: 20 }, () => collect(items(5, {}, { signal, timeoutMs: 60_000 }))),
            ...Array.from({ length: 20 }, () => failure(collect(items(1, { failWith: "aborted" }, { signal })))),
          ]);
        }
        expect(getEventListeners(signal, "abort")).toHaveLength(0);
        expect(timers()).toBeLessThanOrEqual(before);
      });

      it("C63 the session ends with calls in progress: every one settles with unavailable", async () => {
        const talk = chat();
        const calls = [
          wait("a"),
          wait("b"),
          collect(items(3, { open: true })),
          pair.client.clientStream(methods.sum, endless(1), options()),
          collect(talk.readable),
          talk.writable.getWriter().closed,
        ].map(failure);
        await Promise.all(["wait a", "wait b", "item 2", "sum"].map((event) => pair.witness.until(event)));
        await pair.server.close({ closeCode: 7, reason: "maintenance" });
        for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "unavailable" });
        await Promise.all(
          ["aborted a cancelled", "aborted b cancelled", "left 3"].map((event) => pair.witness.until(event)),
        );
        const end = await pair.client.closed;
        expect(end.error).toBeInstanceOf(Error);
        expect(await failure(echo("after"))).toMatchObject({ code: "unavailable" });
      });
    });
  });

  describe("limits", () => {
    it("C51 a message exactly at maxFrameBytes passes · C52 one byte more names the limit, and the session lives", async () => {
      const pair = await kind.connect({ maxFrameBytes: 10_000 });
      try {
        // length 4, type 1, id 1, service 2, method 1, map 1, key 5, string head 3
        const most = 10_000 - 18;
        const text = "x".repeat(most);
        expect((await pair.client.unary(methods.echo, { text }, { via: "stream" })).text.length).toBe(most);
        const error = await failure(pair.client.unary(methods.echo, { text: `${text}x` }, { via: "stream" }));
        expect(error).toMatchObject({ code: "resource_exhausted" });
        expect(error.message).toMatch(/10001 bytes.*limits\.maxFrameBytes is 10000/);
        expect(await pair.client.unary(methods.echo, { text: "alive" })).toEqual({ text: "alive" });
      } finally {
        await pair.close();
      }
    });
  });
});

function range(n: number): { i: number }[] {
  return Array.from({ length: n }, (_, i) => ({ i }));
}

function readableFrom<T>(items: T[]): ReadableStream<T> {
  return new ReadableStream({
    start(out) {
      for (const item of items) out.enqueue(item);
      out.close();
    },
  });
}

async function* asyncFrom<T>(items: T[]): AsyncIterable<T> {
  yield* items;
}

/** -1, or another number, and then nothing until it is left. */
function endless(first: number = -1): AsyncIterable<number> & { left: Promise<void> } {
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  let given = false;
  const iterator: AsyncIterator<number> = {
    next: () => {
      if (given) return new Promise(() => {});
      given = true;
      return Promise.resolve({ done: false, value: first });
    },
    return: () => {
      leave();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { left, [Symbol.asyncIterator]: () => iterator };
}

/** Timers of this process that would fire. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

async function collect<T>(stream: ReadableStream<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

async function failure(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    return error as RpcError;
  }
  throw new Error("the call succeeded");
}
