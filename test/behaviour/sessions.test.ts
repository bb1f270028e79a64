import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { describeCalls } from "./describe-calls.js";
import { methods } from "./service.js";
import { collect, endless, failure, timers } from "./tools.js";

describeCalls("session", (on) => {
  const { options, echo, wait, items, chat } = on;

  it("C62 a slow reader stalls the writer, and reading on delivers all", async () => {
    const n = 2000;
    const iterator = items(n, { size: 4000 })[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ i: 0 });
    // The session works on while the stream stalls: enough round trips for everything in flight to settle.
    let sent = -1;
    for (let calm = 0; calm < 20; ) {
      await echo("tick");
      const now = on.witness.events.length;
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
    const call = on.client.clientStream(methods.sink, source, options());
    await on.witness.until("sink");
    let before = -1;
    for (let calm = 0; calm < 20; ) {
      await echo("tick");
      calm = taken === before ? calm + 1 : 0;
      before = taken;
    }
    expect(taken).toBeLessThan(2000);
    on.witness.release.get("sink")?.();
    expect(await call).toBe(2000);
  });

  it("C66 calls that are over leave no listener and no timer", async () => {
    const { signal } = new AbortController();
    const before = timers();
    for (let round = 0; round < 5; round++) {
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
      on.client.clientStream(methods.sum, endless(1), options()),
      collect(talk.readable),
      talk.writable.getWriter().closed,
    ].map(failure);
    await Promise.all(["wait a", "wait b", "item 2", "sum"].map((event) => on.witness.until(event)));
    await on.server.close({ closeCode: 7, reason: "maintenance" });
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "unavailable" });
    await Promise.all(["aborted a cancelled", "aborted b cancelled", "left 3"].map((event) => on.witness.until(event)));
    const end = await on.client.closed;
    expect(end.error).toBeInstanceOf(Error);
    expect(await failure(echo("after"))).toMatchObject({ code: "unavailable" });
  });
});
