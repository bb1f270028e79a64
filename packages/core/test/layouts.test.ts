import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import { describe, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";

/** A session over a connection with a round trip of `rttMs`, and the number of streams that it has opened. */
function measured(options: SessionOptions = {}, rttMs = 1): { session: Session; streams: () => number } {
  const [here, there] = createMemoryPair();
  createSession(there, { routers: [behaviourRouter(new Witness())] });
  let streams = 0;
  const transport: DirectSession = {
    attach: (handler) => here.attach(handler),
    openStream: () => {
      streams++;
      return here.openStream();
    },
    close: (info) => here.close(info),
    stats: () => ({ rttMs, sentPackets: 0, lostPackets: 0 }),
  };
  return { session: createSession(transport, options), streams: () => streams };
}

describe("via auto", () => {
  it("stays with what a session, method or call says", async () => {
    const { session, streams } = measured({ via: "lane" });
    for (let i = 0; i < 2; i++) await session.unary(methods.echo, { text: "x".repeat(70_000) });
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
    const { session, streams } = measured({}, rttMs);
    const opened: number[] = [];
    for (const length of [70_000, 70_000, 10, 10]) {
      await session.unary(methods.echo, { text: "x".repeat(length) });
      opened.push(streams());
    }
    expect(opened).toEqual(expected);
    await session.close();
  });
});
