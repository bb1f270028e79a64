import { type Session, TransportError } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConnectStrategy, type StrategyOptions } from "./connect-strategy.js";
import type { FallbackOptions } from "./fallback.js";

const never = new AbortController().signal;
const url = "wss://api.example";

function failure(code: string): TransportError {
  return new TransportError({ code, url: "quic://api.example", message: `cannot connect: ${code}` });
}

function session(): Session {
  return { closed: new Promise(() => {}), ping: async () => 1, close: async () => {} } as unknown as Session;
}

describe("the sessions of a connection with a fallback", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(1);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  /** Creates a strategy whose preferred URL fails with this code, and its first session, which uses the fallback. */
  async function fallenBack(code: string, options: Partial<FallbackOptions> = {}) {
    const preferred = vi.fn<StrategyOptions["preferred"]>().mockRejectedValue(failure(code));
    const dial = async (): Promise<Session> => session();
    const strategy = new ConnectStrategy({ preferred, fallback: { dial, options: { url, ...options } }, onError() {} });
    const first = await strategy.dial(never);
    preferred.mockClear();
    return { strategy, preferred, first };
  }

  const redial = (): Promise<Session> => expect.unreachable("the session is not silent");

  it("return to the preferred URL, from a fresh port, with growing pauses between attempts", async () => {
    const { strategy, preferred, first } = await fallenBack("ERR_QUIC_HANDSHAKE_TIMEOUT");
    const better = strategy.improve(first, never, redial);
    await vi.advanceTimersByTimeAsync(4999);
    expect(preferred).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(preferred).toHaveBeenCalledTimes(1);
    expect(preferred.mock.lastCall?.[1]).toBe(true);
    const made = session();
    preferred.mockResolvedValue(made);
    await vi.advanceTimersByTimeAsync(9999);
    expect(preferred).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await better).toBe(made);
    expect(vi.getTimerCount()).toBe(0);
    await expect(strategy.improve(made, never, redial)).rejects.toThrow("no other session is better");
  });

  it("stay on the fallback if the engine is missing, or `retry` is false", async () => {
    const missing = await fallenBack("ERR_QUIC_NATIVE_MISSING");
    const better = missing.strategy.improve(missing.first, never, redial);
    const rejected = better.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await rejected).toMatchObject({ code: "ERR_QUIC_NATIVE_MISSING" });
    const fixed = await fallenBack("ETIMEDOUT", { retry: false });
    await expect(fixed.strategy.improve(fixed.first, never, redial)).rejects.toThrow("no other session is better");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("end the search when its signal fires", async () => {
    const { strategy, first } = await fallenBack("ETIMEDOUT");
    const abort = new AbortController();
    const better = strategy.improve(first, abort.signal, redial);
    abort.abort(new Error("enough"));
    await expect(better).rejects.toThrow("enough");
    expect(vi.getTimerCount()).toBe(0);
  });
});
