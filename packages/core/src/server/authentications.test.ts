import { DEFAULT_LIMITS } from "../limits.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Applicant, Authentications, type AuthenticationSettings } from "./authentications.js";

/** A visit whose peer goes when the test says so. */
function visitor(): { visit: Applicant<string>["visit"]; leave: () => void } {
  let gone: (() => void) | undefined;
  const visit: Applicant<string>["visit"] = {
    remainingMs: 10_000,
    onGone: (listener) => {
      gone = listener;
    },
  };
  return { visit, leave: () => gone?.() };
}

function authenticationsBy(
  authenticate: AuthenticationSettings<string, string>["authenticate"],
  errors: unknown[],
): Authentications<string, string> {
  const onError = (error: unknown): void => void errors.push(error);
  return new Authentications({ authenticate, limits: DEFAULT_LIMITS, onError });
}

describe("authenticate", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each(["resolved", "rejected"])("that has %s is over: the end of the session is no news to it", async (how) => {
    const errors: unknown[] = [];
    const signals: AbortSignal[] = [];
    const authenticate = async (_peer: string, signal: AbortSignal): Promise<string> => {
      signals.push(signal);
      if (how === "rejected") throw new Error("no");
      return "somebody";
    };
    const authentications = authenticationsBy(authenticate, errors);
    const { visit, leave } = visitor();
    const outcome = authentications.run({ peer: "somebody", visit, late: () => "too late" }).then(
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
    const authentications = authenticationsBy(authenticate, errors);
    const { visit, leave } = visitor();
    const outcome = authentications
      .run({ peer: "somebody", visit, late: () => "too late" })
      .catch((error: unknown) => error);
    leave();
    expect(await outcome).toMatchObject({ code: "cancelled" });
    await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.maxOutliveMs);
    expect(String(errors)).toContain("There are 1 such calls");
    settle("too late");
    await vi.runAllTimersAsync();
    expect(authentications.running).toBe(0);
  });
});
