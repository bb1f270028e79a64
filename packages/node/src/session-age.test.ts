import type { Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { limitAge } from "./session-age.js";

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
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

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
