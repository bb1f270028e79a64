import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { SessionCode } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { describeCalls } from "./describe-calls.js";
import { kinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

const refused = { code: "unavailable", refused: true };

describeCalls("drain", (on) => {
  it("C64 calls in progress finish, new ones are refused as retryable, and both sides see a clean end", async () => {
    const call = on.wait("a");
    const { readable, writable } = on.chat();
    const iterator = readable[Symbol.asyncIterator]();
    const writer = writable.getWriter();
    expect((await iterator.next()).value).toBe("HELLO");
    await on.witness.until("wait a");

    const drained = on.server.drain();
    expect(await failure(on.echo("crosses the goaway"))).toMatchObject(refused);
    await on.client.draining;
    expect(await failure(on.echo("knows"))).toMatchObject(refused);

    await writer.write("still");
    expect((await iterator.next()).value).toBe("STILL");
    await writer.close();
    expect((await iterator.next()).value).toBe("BYE");
    expect((await iterator.next()).done).toBe(true);
    on.witness.release.get("a")?.();
    expect(await call).toEqual({ text: "a" });
    expect(await drained).toMatchObject({ closeCode: 0, error: undefined });
    expect(await on.client.closed).toMatchObject({ closeCode: 0, error: undefined });
  });

  it("C64 the drain deadline is enforced", async () => {
    const call = on.wait("a");
    await on.witness.until("wait a");
    const [error, end] = await Promise.all([failure(call), on.server.drain({ timeoutMs: 1 })]);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(end.closeCode).toBe(SessionCode.DrainTimeout);
    expect(await on.client.closed).toMatchObject({ closeCode: SessionCode.DrainTimeout });
  });

  it("C64 the side that drains says where calls are taken instead, and how long those in progress have", async () => {
    const call = on.wait("a");
    await on.witness.until("wait a");
    const drained = on.server.drain({ to: "quic://other.test:4433", timeoutMs: 60_000, final: true });
    await on.client.draining;
    expect(on.client.departure).toEqual({ to: "quic://other.test:4433", withinMs: 60_000, final: true });
    on.witness.release.get("a")?.();
    expect(await call).toEqual({ text: "a" });
    const { closeCode, error } = await drained;
    expect([closeCode, error]).toEqual([0, undefined]);
  });

  it("C64 the side that makes the calls drains: those in progress finish, and it makes no more", async () => {
    const call = on.wait("a");
    await on.witness.until("wait a");
    const drained = on.client.drain();
    expect(await failure(on.echo("b"))).toMatchObject(refused);
    on.witness.release.get("a")?.();
    expect(await call).toEqual({ text: "a" });
    expect(await drained).toMatchObject({ closeCode: 0, error: undefined });
  });

  it("C64 both sides drain at once, and notifications that were sent before have arrived", async () => {
    for (let i = 0; i < 10; i++) await on.client.notify(methods.note, { text: String(i) }, on.options());
    const ends = await Promise.all([on.client.drain(), on.server.drain()]);
    expect(ends).toMatchObject([{ closeCode: 0 }, { closeCode: 0 }]);
    expect(on.witness.events.filter((event) => event.startsWith("note"))).toHaveLength(10);
  });
});

const service = { name: "test.v1.Drain", id: 7001 };
const Text = zodCodec(z.string());
const ask = defineMethod(service, "unary", "ask", { id: 1, input: Text, output: Text });
const back = defineMethod(service, "unary", "back", { id: 2, input: Text, output: Text });

describe.each(kinds)("drain: $name", (kind) => {
  let pair: Pair;
  let goOn!: () => void;
  let entered!: Promise<void>;
  beforeEach(async () => {
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let enter!: () => void;
    entered = new Promise((resolve) => {
      enter = resolve;
    });
    const server = createRouter(
      { ask },
      {
        ask: async (text, { session }) => {
          enter();
          await gate;
          return session.unary(back, text);
        },
      },
    );
    const client = createRouter({ back }, { back: (text) => text.toUpperCase() });
    pair = await kind.connect({}, { server: { routers: [server] }, client: { routers: [client] } });
  });
  afterEach(() => pair.close());

  it("C64 a handler that is in progress still calls the other side", async () => {
    const call = pair.client.unary(ask, "a");
    await entered;
    const drained = pair.server.drain();
    await pair.client.draining;
    goOn();
    expect(await call).toBe("A");
    expect(await drained).toMatchObject({ closeCode: 0, error: undefined });
  });

  it("a ping measures the round-trip time, and fails when the session has ended", async () => {
    expect(pair.client.rttMs).toBeUndefined();
    const rtt = await timedPing(pair.client);
    expect(rtt).toBeGreaterThan(0);
    expect(pair.client.rttMs).toBe(rtt);
    expect(await timedPing(pair.server)).toBeGreaterThan(0);
    const last = pair.client.ping();
    await Promise.all([
      pair.client.close({ closeCode: 9 }),
      expect(last).rejects.toMatchObject({ code: "unavailable" }),
    ]);
  });
});

/** The first of a hundred pings that took any time: a page's clock may be as coarse as a millisecond, where most take none. */
async function timedPing(session: Pair["client"]): Promise<number> {
  for (let pings = 0; pings < 100; pings++) {
    const began = performance.now();
    const rtt = await session.ping();
    expect(rtt).toBeLessThanOrEqual(performance.now() - began);
    if (rtt > 0) return rtt;
  }
  return 0;
}
