import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { OverloadGuard } from "./load-shedder.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The event loop is blocked for so long: time passes, and no timer fires. */
function block(ms: number): void {
  const now = performance.now();
  vi.spyOn(performance, "now").mockReturnValue(now + ms);
}

it("refuses while the event loop is late, and no longer", () => {
  const guard = new OverloadGuard({ maxEventLoopDelayMs: 100 });
  vi.advanceTimersByTime(1000);
  expect(guard.objection()).toBeUndefined();
  block(500);
  expect(guard.objection()).toMatch(/the server is 450 ms behind.*maxEventLoopDelayMs is 100/);
  vi.restoreAllMocks();
  vi.advanceTimersByTime(1000);
  expect(guard.objection()).toBeUndefined();
  guard.stop();
  expect(vi.getTimerCount()).toBe(0);
});

it("refuses from maxCalls in progress on", () => {
  const guard = new OverloadGuard({ maxCalls: 2 });
  for (const change of [1, 1] as const) {
    expect(guard.objection()).toBeUndefined();
    guard.onCalls(change);
  }
  expect(guard.objection()).toContain("2 calls in progress");
  guard.onCalls(-1);
  expect(guard.objection()).toBeUndefined();
});
