import { type Code, RpcError } from "@quicrpc/core";

/**
 * Reasons why a call of a `once` method has no result, with their status codes. The codes are listed in
 * docs/error-codes.md.
 */
const FAILURES: Readonly<Record<OnceFailure, Code>> = {
  /** The handler may have run, but its result is unknown: the process that ran it, or the stored result, is lost. */
  unknown: "aborted",
  /** The key of the call was already used with a different input. */
  mismatch: "invalid_argument",
  /** The key of the call is older than the stored results. The handler did not run for this call. */
  expired: "failed_precondition",
  /** The key of the call contains no creation time, or one in the future. */
  malformed: "invalid_argument",
};

/**
 * Reason why a call of a `once` method has no result. "unknown": its handler may have run. "mismatch": its key was used
 * with a different input. "expired": its key is older than the stored results, and the handler did not run for this
 * call. "malformed": its key is missing or contains no valid creation time.
 */
export type OnceFailure = "unknown" | "mismatch" | "expired" | "malformed";

/** Returns the reason why a call of a `once` method has no result, or undefined for any other error. */
export function onceFailure(error: unknown): OnceFailure | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { once } = (error.details ?? {}) as { readonly once?: unknown };
  return typeof once === "string" && Object.hasOwn(FAILURES, once) ? (once as OnceFailure) : undefined;
}

export function unknownOutcome(cause: string): RpcError {
  return failed("unknown", `it is not known whether the call took effect: ${cause}`);
}

export function mismatch(): RpcError {
  return failed("mismatch", "the key of the call was used with another input");
}

export function expired(ageMs: number, recordForMs: number): RpcError {
  const text = `the call's key was made ${ageMs} ms ago, and nothing is known of it: calls are kept for ${recordForMs} ms`;
  return failed("expired", text);
}

export function fromTheFuture(aheadMs: number): RpcError {
  return failed("malformed", `the call's key was made ${aheadMs} ms ahead of this side's clock`);
}

function failed(once: OnceFailure, text: string): RpcError {
  return new RpcError(FAILURES[once], text, { details: { once } });
}
