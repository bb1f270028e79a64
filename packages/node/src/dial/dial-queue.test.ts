import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DialQueue } from "./dial-queue.js";

const AT_ONCE = 64;
const TURN_MS = 1000;

describe("dials to one host", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Starts dials that the test ends. */
  function dials(queue: DialQueue, count: number, signal?: AbortSignal) {
    const started: { succeed: () => void; fail: (error: unknown) => void }[] = [];
    const results = Array.from({ length: count }, () =>
      queue.run(() => new Promise<void>((succeed, fail) => started.push({ succeed, fail })), signal),
    );
    return { started, results, settled: () => vi.advanceTimersByTimeAsync(0) };
  }

  it("begins so many at once, and the next whenever one has ended, however it ends", async () => {
    const queue = new DialQueue();
    const { started, results, settled } = dials(queue, AT_ONCE + 3);
    await settled();
    expect(started).toHaveLength(AT_ONCE);
    started[7]?.succeed();
    started[3]?.fail(new Error("refused"));
    await expect(results[3]).rejects.toThrow("refused");
    await settled();
    expect(started).toHaveLength(AT_ONCE + 2);
    for (const { succeed } of started) succeed();
    await settled();
    for (const { succeed } of started) succeed();
    await Promise.allSettled(results);
    expect(queue.idle).toBe(true);
  });

  it("passes by those that take long, and counts none of them twice", async () => {
    const queue = new DialQueue();
    const { started, results, settled } = dials(queue, 2 * AT_ONCE + 1);
    await settled();
    await vi.advanceTimersByTimeAsync(TURN_MS);
    expect(started).toHaveLength(2 * AT_ONCE);
    for (const { succeed } of started.slice(0, AT_ONCE)) succeed();
    await settled();
    expect(started).toHaveLength(2 * AT_ONCE);
    started[AT_ONCE]?.succeed();
    await settled();
    for (const { succeed } of started) succeed();
    await Promise.all(results);
    expect(queue.idle).toBe(true);
  });

  it("a dial that is given up before its turn rejects with the reason, and takes no place", async () => {
    const queue = new DialQueue();
    const { started, settled } = dials(queue, AT_ONCE);
    const abort = new AbortController();
    const late = dials(queue, 2, abort.signal);
    const after = dials(queue, 1);
    const ends = Promise.allSettled(late.results);
    abort.abort("enough");
    expect(await ends).toEqual(late.results.map(() => ({ status: "rejected", reason: "enough" })));
    await expect(queue.run(async () => {}, abort.signal)).rejects.toBe("enough");
    for (const { succeed } of started) succeed();
    await settled();
    expect(late.started).toHaveLength(0);
    expect(after.started).toHaveLength(1);
    after.started[0]?.succeed();
    await settled();
    expect(queue.idle).toBe(true);
  });
});
