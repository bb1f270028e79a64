import { createConnection } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { kinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { collect, failure } from "./tools.js";

/** The least bytes that a call, a stream and a value of a message are charged. */
const CALL_BYTES = 2048;
const STREAM_BYTES = 4096;
const VALUE_BYTES = 32;

const wait = (pair: Pair, text: string) => pair.client.unary(methods.wait, { text });

describe.each(kinds)("admission: $name", (kind) => {
  it("C56 too many calls are refused as retryable, and the session lives", async () => {
    const pair = await kind.connect({ maxCalls: 2 });
    const calls = [wait(pair, "a"), wait(pair, "b")];
    await Promise.all([pair.witness.until("wait a"), pair.witness.until("wait b")]);
    for (const call of [
      () => wait(pair, "c"),
      () => pair.client.clientStream(methods.sum, [1]),
      () => pair.client.serverStream(methods.items, { n: 1 })[Symbol.asyncIterator]().next(),
      () => pair.client.duplex(methods.chat).readable[Symbol.asyncIterator]().next(),
    ]) {
      const error = await failure(call());
      expect(error).toMatchObject({ code: "resource_exhausted", refused: true });
      expect(error.message).toContain("2 calls are in progress (limits.maxCalls)");
    }
    for (const text of ["a", "b"]) pair.witness.release.get(text)?.();
    expect(await Promise.all(calls)).toEqual([{ text: "a" }, { text: "b" }]);
    expect(await pair.client.unary(methods.echo, { text: "on" })).toEqual({ text: "on" });
    await pair.close();
  });

  it("C56 a connection keeps the calls that are too many, and makes them as others end", async () => {
    const pair = await kind.connect({ maxCalls: 2 });
    const connection = createConnection(async () => pair.client);
    await connection.ready();
    const texts = Array.from({ length: 20 }, (_, i) => String(i));
    const calls = texts.map((text) => connection.unary(methods.wait, { text }));
    for (const text of texts) void pair.witness.until(`wait ${text}`).then(() => pair.witness.release.get(text)?.());
    expect(await Promise.all(calls)).toEqual(texts.map((text) => ({ text })));
    await pair.close();
  });

  it("C56 calls of every kind wait for their turn where limits.maxWaitingCalls allows it", async () => {
    const pair = await kind.connect({ maxCalls: 1, maxWaitingCalls: 5 });
    const first = wait(pair, "first");
    await pair.witness.until("wait first");
    const order: string[] = [];
    const { readable, writable } = pair.client.duplex(methods.chat);
    const waiting = [
      pair.client.unary(methods.echo, { text: "unary" }).then(() => order.push("unary")),
      pair.client.clientStream(methods.sum, [1, 2]).then((sum) => order.push(`sum ${sum}`)),
      collect(pair.client.serverStream(methods.items, { n: 2 })).then((items) => order.push(`${items.length} items`)),
      collect(readable).then((items) => order.push(items.join(" "))),
      writable.close(),
    ];
    await pair.client.ping();
    expect(order).toEqual([]);
    pair.witness.release.get("first")?.();
    expect(await first).toEqual({ text: "first" });
    await Promise.all(waiting);
    expect(order.toSorted()).toEqual(["2 items", "HELLO BYE", "sum 3", "unary"]);
    await pair.close();
  });

  it("C56 a call that waits is cancelled, or out of time, without having been begun", async () => {
    const pair = await kind.connect({ maxCalls: 1, maxWaitingCalls: 2 });
    const first = wait(pair, "first");
    await pair.witness.until("wait first");
    const controller = new AbortController();
    const cancelled = failure(pair.client.unary(methods.wait, { text: "cancelled" }, { signal: controller.signal }));
    const late = failure(pair.client.unary(methods.wait, { text: "late" }, { timeoutMs: 1 }));
    await pair.client.ping();
    controller.abort();
    expect(await cancelled).toMatchObject({ code: "cancelled" });
    expect(await late).toMatchObject({ code: "deadline_exceeded" });
    // Behind the cancels, on the same lane.
    await pair.client.ping();
    pair.witness.release.get("first")?.();
    await first;
    expect(await pair.client.unary(methods.echo, { text: "next" })).toEqual({ text: "next" });
    expect(pair.witness.events).not.toContain("wait cancelled");
    expect(pair.witness.events).not.toContain("wait late");
    await pair.close();
  });

  it("C51 requests that hold limits.maxSessionBytes exactly pass · C52 one byte more names the limit", async () => {
    const text = "x".repeat(1000);
    // {"text": …}, and its three values: the object, the key and the text.
    const size = CALL_BYTES + 1 + 5 + 3 + text.length + 3 * VALUE_BYTES;
    // A lane is a stream, and open before.
    const streams = kind.name.startsWith("a stream") ? 2 : 1;
    const isSole = new Set(["TCP", "MessagePort", "WHATWG byte streams", "TLS", "Unix socket"]).has(kind.name);
    const held = isSole || /WebSocket|fails/.test(kind.name) ? 0 : streams * STREAM_BYTES;
    for (const [maxSessionBytes, passes] of [
      [held + 2 * size, true],
      [held + 2 * size - 1, false],
    ] as const) {
      const pair = await kind.connect({ maxSessionBytes });
      const call = wait(pair, text);
      await pair.witness.until(`wait ${text}`);
      const echo = pair.client.unary(methods.echo, { text });
      if (passes) {
        expect(await echo).toEqual({ text });
      } else {
        const error = await failure(echo);
        expect(error).toMatchObject({ code: "resource_exhausted", refused: true });
        expect(error.message).toContain(`limits.maxSessionBytes is ${maxSessionBytes}`);
      }
      pair.witness.release.get(text)?.();
      await call;
      await pair.close();
    }
  });

  it("a load shedder refuses calls as retryable, and counts those in progress over all sessions", async () => {
    let calls = 0;
    const loadShedder = {
      objection: () => (calls >= 1 ? "busy elsewhere" : undefined),
      onCalls: (change: number) => void (calls += change),
    };
    const pairs = [
      await kind.connect({}, { server: { loadShedder } }),
      await kind.connect({}, { server: { loadShedder } }),
    ] as const;
    const call = wait(pairs[0], "a");
    await pairs[0].witness.until("wait a");
    const echo = () => pairs[1].client.unary(methods.echo, { text: "b" });
    expect(await failure(echo())).toMatchObject({ code: "unavailable", message: "busy elsewhere", refused: true });
    pairs[0].witness.release.get("a")?.();
    await call;
    expect(await echo()).toEqual({ text: "b" });
    expect(calls).toBe(0);
    await Promise.all(pairs.map((pair) => pair.close()));
  });
});
