import { ForbiddenError } from "./policy.js";
import { FORBIDDEN, unreached } from "./unreached.js";

/**
 * Runs `open` with a signal that fires with the given one, or when `timeoutMs` are over. Rejects with the signal's reason then,
 * and else with a `TransportError`, which says that WebTransport failed, and why.
 */
export async function inTime<T>(
  open: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  timeoutMs: number,
  url: string,
): Promise<T> {
  const attempt = new AbortController();
  const giveUp = (): void => attempt.abort(signal.reason);
  const timer = setTimeout(
    () => attempt.abort(unreached(url, "ETIMEDOUT", [`no session within ${timeoutMs} ms`], undefined)),
    timeoutMs,
  );
  signal.addEventListener("abort", giveUp);
  try {
    signal.throwIfAborted();
    return await open(attempt.signal);
  } catch (error) {
    signal.throwIfAborted();
    attempt.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const code = error instanceof ForbiddenError ? FORBIDDEN : "ERR_UNREACHABLE";
    throw unreached(url, code, [`WebTransport failed: ${why}`], error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}
