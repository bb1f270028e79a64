import { type Code, RpcError } from "@quicrpc/core";

/** Reasons why a call of a `once` method has no result, with their codes; docs/error-codes.md lists them. */
const FAILURES: Readonly<Record<OnceFailure, Code>> = {
  /** The call may have taken effect; the result is unknown, because the process that ran it or its record is gone. */
  unknown: "aborted",
  /** The call's key was used with another input. */
  mismatch: "invalid_argument",
  /** The call's key is too old to know the result. Nothing ran now. */
  expired: "failed_precondition",
  /** The call's key does not contain its creation time, or one in the future. */
  malformed: "invalid_argument",
};

/**
 * The reason why a call of a `once` method has no result. "unknown": it may have taken effect. "mismatch": its key was
 * used with another input. "expired": its key is too old to know the result, and nothing ran now. "malformed": its key
 * is missing or contains no creation time.
 */
export type OnceFailure = "unknown" | "mismatch" | "expired" | "malformed";

/** Returns the reason why a `once` call has no result; undefined for any other error. */
export function onceFailure(error: unknown): OnceFailure | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { once } = (error.details ?? {}) as { readonly once?: unknown };
  return typeof once === "string" && Object.hasOwn(FAILURES, once) ? (once as OnceFailure) : undefined;
}

/** Returns the error for a call whose owner, or whose record, was lost. */
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
