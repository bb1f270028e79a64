import { RpcError } from "../../errors.js";

/**
 * The reason why a call of a method that is `once` has no answer of its own. "unknown": it may have taken effect, and nobody knows.
 * "mismatch": its key was used with another input. "expired": its key is too old for anybody to know what became of it, and
 * nothing ran now. "malformed": it has no key that says when it was made.
 */
export type OnceFailure = "unknown" | "mismatch" | "expired" | "malformed";

const FAILURES: readonly unknown[] = ["unknown", "mismatch", "expired", "malformed"] satisfies OnceFailure[];

/** Returns why a call that is `once` has no answer of its own; undefined where its error is another. */
export function onceFailure(error: unknown): OnceFailure | undefined {
  if (!(error instanceof RpcError)) return undefined;
  const { once } = (error.details ?? {}) as { readonly once?: unknown };
  return FAILURES.includes(once) ? (once as OnceFailure) : undefined;
}

/** Makes the error of a call whose owner was lost, or whose record is. */
export function unknownOutcome(why: string): RpcError {
  return failed("aborted", `it is not known whether the call took effect: ${why}`, "unknown");
}

export function mismatch(): RpcError {
  return failed("invalid_argument", "the key of the call was used with another input", "mismatch");
}

export function expired(ageMs: number, recordForMs: number): RpcError {
  const text = `the call's key was made ${ageMs} ms ago, and nothing is known of it: calls are kept for ${recordForMs} ms`;
  return failed("failed_precondition", text, "expired");
}

export function fromTheFuture(aheadMs: number): RpcError {
  return failed("invalid_argument", `the call's key was made ${aheadMs} ms ahead of this side's clock`, "malformed");
}

function failed(
  code: "aborted" | "invalid_argument" | "failed_precondition",
  text: string,
  once: OnceFailure,
): RpcError {
  return new RpcError(code, text, { details: { once } });
}
