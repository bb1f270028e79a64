import { RpcError } from "@quicrpc/core";

/**
 * Runs `open` with a signal that fires with the given one, or when `timeoutMs` are over. Rejects with the signal's reason then,
 * and else with `unavailable`, which says that WebTransport failed, and why.
 */
export async function inTime<T>(
  open: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<T> {
  const attempt = new AbortController();
  const giveUp = (): void => attempt.abort(signal.reason);
  const timer = setTimeout(
    () => attempt.abort(new RpcError("unavailable", `no session within ${timeoutMs} ms`)),
    timeoutMs,
  );
  signal.addEventListener("abort", giveUp);
  try {
    signal.throwIfAborted();
    return await open(attempt.signal);
  } catch (error) {
    signal.throwIfAborted();
    attempt.signal.throwIfAborted();
    throw new RpcError("unavailable", `WebTransport failed: ${RpcError.from(error).message}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
