import type { Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { limitAge, SessionExpiry } from "./session-expiry.js";

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
  ["half a minute early at least, of a long time", HOUR, 0, 30_000],
  ["a twentieth early", 100_000, 0, 5000],
  ["up to a tenth early", 100_000, 1, 10_000],
  ["at once, where it has expired", -5, 1, 0],
])("drains a session %s", async (_, lifeMs, random, early) => {
  const { session, drains } = expiring();
  new SessionExpiry(2000, () => random).watch(session, Date.now() + lifeMs);
  await vi.advanceTimersByTimeAsync(Math.max(0, lifeMs - early - 1));
  if (lifeMs > 0) expect(drains).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(drains).toHaveLength(1);
  expect(drains[0]).toBeCloseTo(lifeMs > 0 ? early + 2000 : 1995, -1);
});

it("waits for longer than a timer can", async () => {
  const { session, drains } = expiring();
  new SessionExpiry(0, () => 0).watch(session, Date.now() + 60 * 24 * HOUR);
  await vi.advanceTimersByTimeAsync(59 * 24 * HOUR);
  expect(drains).toEqual([]);
  await vi.advanceTimersByTimeAsync(24 * HOUR);
  expect(drains).toHaveLength(1);
});

it("forgets a session that has ended", async () => {
  const { session, drains, end } = expiring();
  new SessionExpiry(0).watch(session, Date.now() + HOUR);
  end();
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect(drains).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

it("begins anew when what it follows is renewed", async () => {
  const { session, drains } = expiring();
  const expiry = new SessionExpiry(0, () => 0);
  expiry.watch(session, Date.now() + HOUR);
  await vi.advanceTimersByTimeAsync(HOUR / 2);
  expiry.renew(Date.now() + HOUR);
  await vi.advanceTimersByTimeAsync(HOUR / 2);
  expect(drains).toEqual([]);
  await vi.advanceTimersByTimeAsync(HOUR / 2);
  expect(drains).toHaveLength(1);
});

it("keeps nothing of the renewals before the last, and tells that one of the session's end", async () => {
  const { session, end } = expiring();
  const expiry = new SessionExpiry(0);
  expiry.watch(session, undefined);
  const gone: number[] = [];
  for (let i = 0; i < 3; i++) expiry.onClosed(() => gone.push(i));
  end();
  await vi.advanceTimersByTimeAsync(0);
  expect(gone).toEqual([2]);
});

const MAX_MS = 60_000;

interface Aging {
  readonly session: Session;
  readonly drained: () => boolean;
  readonly end: (how: "draining" | "closed") => void;
}

function aging(): Aging {
  let drained = false;
  const ends: Record<string, () => void> = {};
  const ending = (how: string): Promise<void> => new Promise((resolve) => (ends[how] = resolve));
  const drain = (): Promise<void> => {
    drained = true;
    return Promise.resolve();
  };
  const session = { drain, draining: ending("draining"), closed: ending("closed") } as unknown as Session;
  return { session, drained: () => drained, end: (how) => ends[how]?.() };
}

describe("the age of sessions", () => {
  it("is a tenth more or less than was given, at random", () => {
    const sessions = Array.from({ length: 200 }, () => aging());
    for (const { session } of sessions) limitAge(session, MAX_MS);
    const drained = (): number => sessions.filter((one) => one.drained()).length;
    vi.advanceTimersByTime(0.9 * MAX_MS - 1);
    expect(drained()).toBe(0);
    vi.advanceTimersByTime(0.1 * MAX_MS);
    expect(drained()).toBeGreaterThan(50);
    expect(drained()).toBeLessThan(150);
    vi.advanceTimersByTime(0.1 * MAX_MS + 2);
    expect(drained()).toBe(200);
  });

  it.each(["draining", "closed"] as const)("is forgotten of a session that is %s", async (how) => {
    const { session, drained, end } = aging();
    limitAge(session, MAX_MS);
    end(how);
    await vi.advanceTimersByTimeAsync(2 * MAX_MS);
    expect(drained()).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
