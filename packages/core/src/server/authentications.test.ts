import { DEFAULT_LIMITS } from "../limits.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type UnauthenticatedPeer, Authentications, type AuthenticationSettings } from "./authentications.js";

/** Creates an unauthenticated peer that disconnects when the test calls `leave`. */
function visitor(): { pending: UnauthenticatedPeer<string>["pending"]; leave: () => void } {
  let gone: (() => void) | undefined;
  const pending: UnauthenticatedPeer<string>["pending"] = {
    remainingMs: 10_000,
    onGone: (listener) => {
      gone = listener;
    },
  };
  return { pending, leave: () => gone?.() };
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
    const { pending, leave } = visitor();
    const outcome = authentications
      .run({ peer: "somebody", source: "192.0.2.1", pending, timeoutMessage: () => "too late" })
      .then(
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

  it("that runs on when its peer has gone is reported, once it does so for handlerGraceMs", async () => {
    const errors: unknown[] = [];
    let settle!: (who: string) => void;
    const authenticate = (): Promise<string> => new Promise((resolve) => (settle = resolve));
    const authentications = authenticationsBy(authenticate, errors);
    const { pending, leave } = visitor();
    const outcome = authentications
      .run({ peer: "somebody", source: "192.0.2.1", pending, timeoutMessage: () => "too late" })
      .catch((error: unknown) => error);
    leave();
    expect(await outcome).toMatchObject({ code: "cancelled" });
    await vi.advanceTimersByTimeAsync(DEFAULT_LIMITS.handlerGraceMs);
    expect(String(errors)).toContain("Such calls: 1");
    settle("too late");
    await vi.runAllTimersAsync();
    expect(authentications.running).toBe(0);
  });
});

describe("the places of authenticate", () => {
  /**
   * Starts authentications of peers, whose names begin with their source. The test settles the `authenticate` calls.
   */
  class Desk {
    readonly running: Map<string, () => void> = new Map();
    readonly outcomes: Map<string, unknown> = new Map();
    readonly authentications: Authentications<string, string>;

    constructor(maxAuthentications: number) {
      const limits = { ...DEFAULT_LIMITS, maxAuthentications };
      const authenticate = (peer: string): Promise<string> =>
        new Promise((resolve) => this.running.set(peer, () => resolve(peer)));
      this.authentications = new Authentications({ authenticate, limits, onError: () => {} });
    }

    async ask(...names: string[]): Promise<void> {
      for (const peer of names) {
        const source = peer.replace(/\d+$/, "");
        this.authentications.run({ peer, source, pending: visitor().pending, timeoutMessage: () => "too late" }).then(
          () => this.outcomes.set(peer, "in"),
          (error: unknown) => this.outcomes.set(peer, error),
        );
      }
      await Promise.resolve();
    }

    async settle(peer: string): Promise<void> {
      this.running.get(peer)?.();
      this.running.delete(peer);
      await new Promise(setImmediate);
    }
  }
  const numbered = (source: string, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `${source}${at + 1}`);

  it("are left to others in part, however many one address asks for", async () => {
    const desk = new Desk(8);
    await desk.ask(...numbered("a", 20), "b1", "renewals of a1");
    expect([...desk.running.keys()]).toEqual([...numbered("a", 6), "b1", "renewals of a1"]);
  });

  it("go to addresses by turns", async () => {
    const desk = new Desk(4);
    await desk.ask(...numbered("a", 9), ...numbered("b", 3), "c1");
    expect([...desk.running.keys()]).toEqual(["a1", "a2", "a3", "b1"]);
    const served: string[] = [];
    for (let [first] = desk.running.keys(); first !== undefined; [first] = desk.running.keys()) {
      served.push(first);
      await desk.settle(first);
    }
    expect(served.slice(4, 9)).toEqual(["a4", "b2", "c1", "a5", "b3"]);
    expect(desk.outcomes.size).toBe(13);
  });

  it("are awaited by 16 times as many: the newest of the address with the most are refused", async () => {
    const desk = new Desk(2);
    await desk.ask(...numbered("a", 36), "b1", "b2");
    await new Promise(setImmediate);
    expect([...desk.outcomes.keys()]).toEqual(["a35", "a36", "a34", "a33"]);
    expect(desk.outcomes.get("a33")).toMatchObject({ code: "resource_exhausted", refused: true });
    await desk.settle("a1");
    await desk.settle("a2");
    expect([...desk.running.keys()]).toEqual(["a3", "b1"]);
  });

  it("are given up when the time is over, so that the caller may try again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "performance", "Date"] });
    try {
      const desk = new Desk(1);
      await desk.ask("a1", "a2");
      await vi.advanceTimersByTimeAsync(10_000);
      expect(desk.outcomes.get("a2")).toMatchObject({ code: "deadline_exceeded", refused: true });
    } finally {
      vi.useRealTimers();
    }
  });
});
