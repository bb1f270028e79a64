import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import { describe, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";

/** A session over a connection that loses one packet in twenty, as it says, and the streams that it has opened. */
function lossy(options: SessionOptions = {}, rttMs = 1): { session: Session; streams: () => number } {
  const [here, there] = createMemoryPair();
  createSession(there, { routers: [behaviourRouter(new Witness())] });
  let streams = 0;
  let sentPackets = 0;
  const transport: DirectSession = {
    attach: (handler) => here.attach(handler),
    openStream: () => {
      streams++;
      return here.openStream();
    },
    close: (info) => here.close(info),
    stats: () => {
      sentPackets += 1000;
      return { rttMs, sentPackets, lostPackets: sentPackets / 20 };
    },
  };
  return { session: createSession(transport, options), streams: () => streams };
}

const burst = (session: Session, text: string) =>
  Promise.all(Array.from({ length: 256 }, () => session.unary(methods.echo, { text })));

describe("via auto", () => {
  it("spreads calls over lanes, then over streams, as packets get lost and flights grow", async () => {
    const { session, streams } = lossy();
    await burst(session, "x".repeat(24));
    expect(streams()).toBe(1);
    // Measured at its last call: some 8 packets in flight.
    await burst(session, "x".repeat(24));
    await burst(session, "x".repeat(24));
    expect(streams()).toBe(4);
    // At the end of the first of these, some 200.
    await burst(session, "x".repeat(1000));
    await burst(session, "x".repeat(1000));
    await burst(session, "x".repeat(1000));
    expect(streams()).toBeGreaterThan(4 + 200);
    expect(await session.unary(methods.echo, { text: "still" })).toEqual({ text: "still" });
    await session.close();
  });

  it("gives large messages streams of their own while other calls use several lanes", async () => {
    const { session, streams } = lossy();
    for (let i = 0; i < 3; i++) await burst(session, "x".repeat(24));
    expect(streams()).toBe(4);
    await session.unary(methods.echo, { text: "x".repeat(70_000) });
    for (let i = 1; i <= 5; i++) {
      await session.unary(methods.echo, { text: "x".repeat(70_000) });
      expect(streams()).toBe(4 + i);
    }
    await session.close();
  });

  it("stays with what a session, method or call says", async () => {
    const { session, streams } = lossy({ via: "lane" });
    for (let i = 0; i < 4; i++) await burst(session, "x".repeat(1000));
    expect(streams()).toBe(1);
    await session.unary({ ...methods.echo, via: "stream" }, { text: "a" });
    expect(streams()).toBe(2);
    await session.unary({ ...methods.echo, via: "stream" }, { text: "a" }, { via: "lane" });
    expect(streams()).toBe(2);
    await session.close();
  });

  it.each([
    ["a lane of their own on a short path", 9, [1, 2, 2, 2]],
    ["streams of their own on a long path", 10, [1, 2, 3, 3]],
  ])("gives a method's calls %s while its messages are large", async (_, rttMs, expected) => {
    const { session, streams } = lossy({}, rttMs);
    const opened: number[] = [];
    for (const length of [70_000, 70_000, 10, 10]) {
      await session.unary(methods.echo, { text: "x".repeat(length) });
      opened.push(streams());
    }
    expect(opened).toEqual(expected);
    await session.close();
  });
});
