import { createSession, type Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { createMemoryPair, type DirectSession, type DirectStream } from "@quicrpc/core/transport";
import { beforeEach, describe, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { collect } from "../../../test/behaviour/tools.js";

/** Sizes of each side's writes, in bytes. */
let ours: number[];
let theirs: number[];
let session: Session;
beforeEach(() => {
  const [here, there] = createMemoryPair();
  ours = [];
  theirs = [];
  createSession(counted(there, theirs), { routers: [behaviourRouter(new Witness())], onError: () => {} });
  session = createSession(counted(here, ours));
});

/**
 * The session, with its writes counted.
 *
 * @param memory receives the memory of what is written
 */
function counted(session: DirectSession, writes: number[], memory?: Set<ArrayBufferLike>): DirectSession {
  const watch = (stream: DirectStream): DirectStream => ({
    attach: (handler) => stream.attach(handler),
    write: (bytes, end) => {
      writes.push(bytes.length);
      memory?.add(bytes.buffer);
      return stream.write(bytes, end);
    },
    pendingBytes: () => stream.pendingBytes(),
    reset: (code) => stream.reset(code),
    stopSending: (code) => stream.stopSending(code),
    pause: () => stream.pause(),
    resume: () => stream.resume(),
  });
  return {
    attach: (handler) =>
      session.attach({
        onStream: (stream) => handler.onStream(watch(stream)),
        onClosed: (info, error) => handler.onClosed(info, error),
      }),
    openStream: () => watch(session.openStream()),
    close: (info) => session.close(info),
  };
}

const echo = (via: "lane" | "stream", text: string) => session.unary(methods.echo, { text }, { via });

describe("frames of one turn leave in one write", () => {
  it("calls in a lane, and their answers", async () => {
    await echo("lane", "first");
    expect([ours.length, theirs.length]).toEqual([1, 1]);
    await Promise.all(Array.from({ length: 100 }, (_, i) => echo("lane", String(i))));
    expect([ours.length, theirs.length]).toEqual([2, 2]);
  });

  it("answers that handlers give later, and errors", async () => {
    await echo("lane", "first");
    const crashes = Array.from({ length: 10 }, (_, i) => session.unary(methods.crash, { text: String(i) }));
    const outcomes = await Promise.allSettled(crashes);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect([ours.length, theirs.length]).toEqual([2, 2]);
  });

  it("a lone call costs one write on each side, by lane or stream", async () => {
    await echo("lane", "first");
    await echo("lane", "alone");
    expect([ours.length, theirs.length]).toEqual([2, 2]);
    await echo("stream", "alone");
    expect([ours.length, theirs.length]).toEqual([3, 3]);
  });

  it.each(["lane", "stream"] as const)("items of an asynchronous source, by %s", async (via) => {
    await echo("lane", "first");
    const before = theirs.length;
    const received: number[] = [];
    for await (const { i } of session.serverStream(methods.items, { n: 100 }, { via })) received.push(i);
    expect(received).toHaveLength(100);
    expect(theirs.length - before).toBeLessThanOrEqual(2);
  });

  it("unless more than a thousand streams send in one turn: these share buffers", async () => {
    const STREAMS = 2000;
    let start = (): void => {};
    const started = new Promise<void>((resolve) => (start = resolve));
    const [here, there] = createMemoryPair();
    const buffers = new Set<ArrayBufferLike>();
    let waiting = 0;
    const items = async function* (): AsyncGenerator<{ i: number }> {
      if (++waiting === STREAMS) start();
      await started;
      yield { i: 1 };
    };
    const routers = [createRouter({ items: methods.items }, { items })];
    createSession(counted(there, theirs, buffers), { routers, limits: { maxCalls: STREAMS } });
    const caller = createSession(here);
    const streams = Array.from({ length: STREAMS }, () =>
      caller.serverStream(methods.items, { n: 1 }, { via: "stream" }),
    );
    const received = await Promise.all(streams.map((stream) => collect(stream)));
    expect(received.flat()).toHaveLength(STREAMS);
    expect(buffers.size).toBeLessThanOrEqual(1025);
  });
});
