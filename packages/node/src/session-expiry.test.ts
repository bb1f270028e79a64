import type { Session } from "@quicrpc/core";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { endAtExpiry } from "./session-expiry.js";

const HOUR = 3_600_000;

interface Expiring {
  readonly session: Session;
  readonly drains: (number | undefined)[];
  readonly end: () => void;
}

function expiring(): Expiring {
  const drains: (number | undefined)[] = [];
  let end = (): void => {};
  const drain = ({ timeoutMs }: { timeoutMs?: number }): Promise<void> => {
    drains.push(timeoutMs);
    return Promise.resolve();
  };
  const closed = new Promise<void>((resolve) => (end = resolve));
  const session = { drain, draining: new Promise(() => {}), closed } as unknown as Session;
  return { session, drains, end: () => end() };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it.each([
  ["a minute early at most", HOUR, 1, 60_000],
  ["a twentieth early", 100_000, 0, 5000],
  ["up to a tenth early", 100_000, 1, 10_000],
  ["at once, where it has expired", -5, 1, 0],
])("drains a session %s", async (_, lifeMs, random, early) => {
  const { session, drains } = expiring();
  endAtExpiry(session, Date.now() + lifeMs, 2000, () => random);
  await vi.advanceTimersByTimeAsync(Math.max(0, lifeMs - early - 1));
  if (lifeMs > 0) expect(drains).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(drains).toHaveLength(1);
  expect(drains[0]).toBeCloseTo(lifeMs > 0 ? early + 2000 : 1995, -1);
});

it("waits for longer than a timer can", async () => {
  const { session, drains } = expiring();
  endAtExpiry(session, Date.now() + 60 * 24 * HOUR, 0, () => 0);
  await vi.advanceTimersByTimeAsync(59 * 24 * HOUR);
  expect(drains).toEqual([]);
  await vi.advanceTimersByTimeAsync(24 * HOUR);
  expect(drains).toHaveLength(1);
});

it("forgets a session that has ended", async () => {
  const { session, drains, end } = expiring();
  endAtExpiry(session, Date.now() + HOUR, 0);
  end();
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect(drains).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
