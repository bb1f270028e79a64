import { RpcError } from "@quicrpc/core";
import { type FailedAttempt, type Opened, race } from "@quicrpc/core/internal";
import { ForbiddenError } from "./policy.js";
import { FORBIDDEN, unreached } from "./unreached.js";
import type { TransportKind } from "./transport.js";

export interface Candidate<T> {
  readonly kind: TransportKind;
  readonly name: string;
  /** True if the transport does not support the options. `open` then rejects with the reason. Default false. */
  readonly isRefused?: boolean;
  /**
   * Opens the transport. Rejects if that fails, or when the signal fires. If the signal fires later, closes the
   * transport.
   */
  open(signal: AbortSignal): Promise<T>;
}

export interface OpenOptions<T> {
  /**
   * Transports in order of preference. Each is tried when the earlier ones have failed or have not answered within
   * `afterMs`.
   */
  readonly candidates: readonly Candidate<T>[];
  /** Milliseconds without an answer after which the next transport is tried as well. */
  readonly afterMs: number;
  /**
   * True if the first transport has worked before. If it does not answer now, that says little about the network.
   * Default false.
   */
  readonly worked?: boolean;
  readonly url: string;
  /** Timeout in milliseconds for all transports together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens the first transport that is ready, and closes the others. A transport that does not answer does not delay the
 * next one: if UDP is blocked, a browser reports an error only after half a minute. Rejects with a `TransportError`
 * that describes the failure of each transport.
 */
export async function openFirst<T>(options: OpenOptions<T>): Promise<Opened<T, string>> {
  const { candidates, afterMs, worked = false, url, timeoutMs, signal } = options;
  const failures: string[] = [];
  const causes: unknown[] = [];
  const attempt = new AbortController();
  const abortAttempt = (): void => attempt.abort(reasonOf(signal));
  const expire = (): void =>
    attempt.abort(unreached(url, "ETIMEDOUT", [`no session within ${timeoutMs} ms`, ...failures], causeOf(causes)));
  const timer = setTimeout(expire, timeoutMs);
  signal.addEventListener("abort", abortAttempt);
  if (signal.aborted) abortAttempt();
  const openers = candidates.map((candidate) => async (signal: AbortSignal): Promise<T> => {
    try {
      return await candidate.open(signal);
    } catch (error) {
      failures.push(failureOf(candidate, error));
      causes.push(error);
      throw error;
    }
  });
  try {
    const { value, index, failures: failedAttempts } = await race({ openers, afterMs, signal: attempt.signal });
    const reasons = failedAttempts.map((failed, index) => explain(candidates[index] as Candidate<T>, failed));
    const lateCount = worked ? 0 : failedAttempts.reduce((last, { late }, index) => (late ? index + 1 : last), 0);
    return { value, index, reason: index === 0 ? undefined : reasons.join("; "), lateCount };
  } catch {
    attempt.signal.throwIfAborted();
    const forbidden = causes.every((cause) => cause instanceof ForbiddenError);
    throw unreached(url, forbidden ? FORBIDDEN : "ERR_UNREACHABLE", failures, causeOf(causes));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abortAttempt);
  }

  function explain(candidate: Candidate<T>, failed: FailedAttempt): string {
    if (!failed.late) return failureOf(candidate, failed.error);
    const known = worked ? ", though it did before" : ": UDP may be blocked";
    return `${candidate.name} did not answer within ${afterMs} ms${candidate.kind === "webtransport" ? known : ""}`;
  }
}

function failureOf({ name }: Candidate<unknown>, error: unknown): string {
  const message = error instanceof Error && error.message !== "" ? error.message : String(error);
  return `${name} failed: ${message}`;
}

function causeOf([first, ...more]: readonly unknown[]): unknown {
  return more.length === 0 ? first : new AggregateError([first, ...more]);
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new RpcError("cancelled", "connecting was aborted");
}
