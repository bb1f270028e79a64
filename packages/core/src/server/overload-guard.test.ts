import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OverloadGuard } from "./overload-guard.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Blocks the event loop: the time advances, and no timer fires. */
function busy(ms: number): void {
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + ms);
}

describe("load shedding", () => {
  it("by calls in progress: as many as allowed, and again when one is over", () => {
    const guard = new OverloadGuard({ maxCalls: 2 });
    guard.onCalls(1);
    expect(guard.objection()).toBeUndefined();
    guard.onCalls(1);
    expect(guard.objection()).toBe("the server has 2 calls in progress (loadShedding.maxCalls)");
    guard.onCalls(-1);
    expect(guard.objection()).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("by the event loop's delay: at once while it is late, and on average for a while after", () => {
    const guard = new OverloadGuard({ maxEventLoopDelayMs: 100 });
    vi.advanceTimersByTime(1000);
    expect(guard.objection()).toBeUndefined();
    busy(3000);
    expect(guard.objection()).toMatch(/^the server is 29\d\d ms behind \(loadShedding\.maxEventLoopDelayMs is 100\)$/);
    vi.advanceTimersByTime(50);
    vi.restoreAllMocks();
    expect(guard.objection()).toMatch(/ms behind/);
    vi.advanceTimersByTime(2000);
    expect(guard.objection()).toBeUndefined();
    guard.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
