import { RpcError } from "@quicrpc/core";
import { type Loss, type Opened, race } from "@quicrpc/core/internal";
import { ForbiddenError } from "./policy.js";
import { FORBIDDEN, unreached } from "./unreached.js";
import type { TransportKind } from "./transport.js";

/** One transport that may be tried. */
export interface Candidate<T> {
  readonly kind: TransportKind;
  /** Name for error messages. */
  readonly name: string;
  /** Whether it does not support the given options, and rejects with the reason when opened. Default false. */
  readonly isRefused?: boolean;
  /** Opens it. Rejects if that fails, or when the signal fires. A signal that fires later closes it. */
  open(signal: AbortSignal): Promise<T>;
}

/** Options for reaching a server. */
export interface OpenOptions<T> {
  /** The best first: each is tried when the earlier ones have failed or are late. */
  readonly candidates: readonly Candidate<T>[];
  /** Milliseconds without an answer after which a candidate is late. */
  readonly afterMs: number;
  /** Whether the first has worked before: its silence then says little about the network. Default false. */
  readonly worked?: boolean;
  /** URL for messages. */
  readonly url: string;
  /** Milliseconds for all candidates together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens the first candidate that is ready, and closes the others. A candidate that is late does not hold up the next
 * one: if UDP is blocked, a browser reports an error only after half a minute. Rejects with a `TransportError` that
 * describes the failure of each.
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
    const { made, index, losses } = await race({ ways: openers, afterMs, signal: attempt.signal });
    const reasons = losses.map((loss, index) => explain(candidates[index] as Candidate<T>, loss));
    const lateCount = worked ? 0 : losses.reduce((last, { late }, index) => (late ? index + 1 : last), 0);
    return { made, index, reason: index === 0 ? undefined : reasons.join("; "), late: lateCount };
  } catch {
    attempt.signal.throwIfAborted();
    const forbidden = causes.every((cause) => cause instanceof ForbiddenError);
    throw unreached(url, forbidden ? FORBIDDEN : "ERR_UNREACHABLE", failures, causeOf(causes));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abortAttempt);
  }

  function explain(candidate: Candidate<T>, loss: Loss): string {
    if (!loss.late) return failureOf(candidate, loss.error);
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
