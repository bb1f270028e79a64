import { type Session, TransportError } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConnectStrategy } from "./connect-strategy.js";
import type { FallbackOptions } from "./fallback.js";

const AFTER_MS = 1500;
const REMEMBER_MS = 600_000;

const never = new AbortController().signal;

function failure(code: string): TransportError {
  return new TransportError({ code, url: "quic://api.example:4433", message: `cannot connect: ${code}` });
}

/** Creates a function that dials the server. The test makes its dials succeed and fail. */
function way() {
  const closed: Session[] = [];
  const dials: { signal: AbortSignal; succeed: () => Session; fail: (error: Error) => void }[] = [];
  const dial = (signal: AbortSignal) =>
    new Promise<Session>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      const succeed = (): Session => {
        const close = (): Promise<unknown> => Promise.resolve(closed.push(session));
        const session = { close, closed: new Promise(() => {}), ping: async () => 1 } as unknown as Session;
        resolve(session);
        return session;
      };
      dials.push({ signal, succeed, fail: reject });
    });
  return { dials, dial, closed };
}

function dialler(options: Partial<FallbackOptions> = {}) {
  const first = way();
  const fallback = way();
  const onFallback = vi.fn<(reason: Error) => void>();
  const onError = vi.fn<(error: unknown) => void>();
  const complete = { url: "wss://api.example:4433", onFallback, ...options };
  const dialler = new ConnectStrategy({
    preferred: first.dial,
    fallback: { dial: fallback.dial, options: complete },
    onError,
  });
  return { dialler, first, fallback, onFallback, onError };
}

describe("two ways to one server", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const settled = () => vi.advanceTimersByTimeAsync(0);

  it("takes the first where it is in time, and tries nothing else", async () => {
    const { dialler: made, first, fallback, onFallback } = dialler();
    const dialled = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS - 1);
    const session = first.dials[0]?.succeed();
    expect(await dialled).toBe(session);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    expect(fallback.dials).toEqual([]);
    expect(onFallback).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([["ERR_QUIC_NATIVE_MISSING"], ["ETIMEDOUT"], ["ECONNREFUSED"]])(
    "falls back at once from %s",
    async (code) => {
      const { dialler: made, first, fallback, onFallback } = dialler();
      const dialled = made.dial(never);
      const error = failure(code);
      first.dials[0]?.fail(error);
      await settled();
      const session = fallback.dials[0]?.succeed();
      expect(await dialled).toBe(session);
      expect(onFallback.mock.calls).toEqual([[error]]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it.each([["CERT_HAS_EXPIRED"], ["ERR_TLS_CERTIFICATE_HASH_MISMATCH"]])("does not fall back from %s", async (code) => {
    const { dialler: made, first, fallback } = dialler();
    const dialled = made.dial(never);
    const error = failure(code);
    first.dials[0]?.fail(error);
    await expect(dialled).rejects.toBe(error);
    expect(fallback.dials).toEqual([]);
  });

  it("tries both where the first is silent, and gives up the slower", async () => {
    const { dialler: made, first, fallback, onFallback } = dialler();
    const dialled = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    expect(first.dials[0]?.signal.aborted).toBe(false);
    const session = fallback.dials[0]?.succeed();
    expect(await dialled).toBe(session);
    expect(first.dials[0]?.signal.aborted).toBe(true);
    expect(String(onFallback.mock.calls[0]?.[0])).toContain("no answer within 1500 ms: UDP may be blocked");
  });

  it("closes a session that the slower way has made all the same", async () => {
    const { dialler: made, first, fallback } = dialler();
    const dialled = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    const taken = fallback.dials[0]?.succeed();
    const slower = first.dials[0]?.succeed();
    expect(await dialled).toBe(taken);
    await settled();
    expect(first.closed).toEqual([slower]);
    expect(fallback.closed).toEqual([]);
  });

  it("takes the fallback alone for a while after silence, and then tries the first again", async () => {
    const { dialler: made, first, fallback, onFallback } = dialler();
    const one = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    fallback.dials[0]?.succeed();
    await one;
    const two = made.dial(never);
    expect(first.dials).toHaveLength(1);
    fallback.dials[1]?.succeed();
    await two;
    expect(onFallback).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(REMEMBER_MS);
    const three = made.dial(never);
    first.dials[1]?.succeed();
    await three;
    expect(fallback.dials).toHaveLength(2);
  });

  it("takes the fallback alone after silence also when a session has returned to the first before", async () => {
    const { dialler: made, first, fallback } = dialler();
    const one = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    fallback.dials[0]?.succeed();
    const better = made.improve(await one, never, () => expect.unreachable());
    await vi.advanceTimersByTimeAsync(5000);
    first.dials[1]?.succeed();
    await better;
    const two = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    fallback.dials[1]?.succeed();
    await two;
    const three = made.dial(never);
    expect(first.dials).toHaveLength(3);
    fallback.dials[2]?.succeed();
    await three;
  });

  it("forgets what it knew where the fallback fails", async () => {
    const { dialler: made, first, fallback } = dialler();
    const one = made.dial(never);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    fallback.dials[0]?.succeed();
    await one;
    const two = made.dial(never);
    fallback.dials[1]?.fail(failure("ECONNREFUSED"));
    await expect(two).rejects.toThrow("ECONNREFUSED");
    void made.dial(never).catch(() => {});
    expect(first.dials).toHaveLength(2);
  });

  it("says of both why they failed", async () => {
    const { dialler: made, first, fallback } = dialler();
    const dialled = made.dial(never);
    first.dials[0]?.fail(failure("ETIMEDOUT"));
    await settled();
    fallback.dials[0]?.fail(failure("CERT_HAS_EXPIRED"));
    await expect(dialled).rejects.toMatchObject({
      code: "ETIMEDOUT",
      message: "cannot connect: ETIMEDOUT; the fallback failed too: cannot connect: CERT_HAS_EXPIRED",
    });
  });

  it("gives up both ways by the signal", async () => {
    const { dialler: made, first, fallback } = dialler();
    const controller = new AbortController();
    const dialled = made.dial(controller.signal);
    await vi.advanceTimersByTimeAsync(AFTER_MS);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(dialled).rejects.toBe(reason);
    expect(first.dials[0]?.signal.aborted).toBe(true);
    expect(fallback.dials[0]?.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("survives a hook that throws", async () => {
    const thrown = new Error("the hook");
    const {
      dialler: made,
      first,
      fallback,
      onError,
    } = dialler({
      onFallback: () => {
        throw thrown;
      },
    });
    const dialled = made.dial(never);
    first.dials[0]?.fail(failure("ETIMEDOUT"));
    await settled();
    const session = fallback.dials[0]?.succeed();
    expect(await dialled).toBe(session);
    expect(onError.mock.calls).toEqual([[thrown]]);
  });
});
