import { DEFAULT_LIMITS } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Authentications } from "./authenticate.js";
import type { Admission } from "./listen/listener.js";
import type { Peer } from "./peer.js";

/** A visit whose peer goes when the test says so. */
function visitor(): { visit: Admission; leave: () => void } {
  let gone: (() => void) | undefined;
  const visit: Admission = {
    remainingMs: 10_000,
    arrived() {},
    onGone: (listener) => {
      gone = listener;
    },
    admit: () => true,
    refuse() {},
  };
  return { visit, leave: () => gone?.() };
}

describe("authenticate", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each(["resolved", "rejected"])("that has %s is over: the end of the session is no news to it", async (how) => {
    const errors: unknown[] = [];
    const signals: AbortSignal[] = [];
    const authenticate = async (_peer: Peer, signal: AbortSignal): Promise<string> => {
      signals.push(signal);
      if (how === "rejected") throw new Error("no");
      return "somebody";
    };
    const authentications = new Authentications(authenticate, DEFAULT_LIMITS, (error) => void errors.push(error));
    const { visit, leave } = visitor();
    const outcome = authentications.run({ peer: {} as Peer, visit }).then(
      () => "resolved",
      () => "rejected",
    );
    expect(await outcome).toBe(how);
    leave();
    await vi.runAllTimersAsync();
    expect(errors).toEqual([]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    expect([authentications.running, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("that runs on when its peer has gone is reported, once it does so for maxOutliveMs", async () => {
    const errors: unknown[] = [];
    let settle!: (who: string) => void;
    const authenticate = (): Promise<string> => new Promise((resolve) => (settle = resolve));
    const authentications = new Authentications(authenticate, DEFAULT_LIMITS, (error) => void errors.push(error));
    const { visit, leave } = visitor();
    const outcome = authentications.run({ peer: {} as Peer, visit }).catch((error: unknown) => error);
    leave();
    expect(await outcome).toMatchObject({ code: "cancelled" });
    await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.maxOutliveMs);
    expect(String(errors)).toContain("There are 1 such calls");
    settle("too late");
    await vi.runAllTimersAsync();
    expect(authentications.running).toBe(0);
  });
});
