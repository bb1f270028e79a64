/**
 * The status codes, gRPC's sixteen, spelled as Connect does. A code's index is its number on the wire, in error frames
 * and in stream resets; 0 is success. Each comment says when a call fails so, and then what the caller does about it:
 * docs/error-codes.md is written from them.
 */
const CODES = [
  "ok",
  /**
   * The caller aborted its `signal`, or left a stream.
   *
   * Nothing.
   */
  "cancelled",
  /**
   * The answer has a code that this side does not know, or something else answered, such as a proxy.
   *
   * Look at `cause`.
   */
  "unknown",
  /**
   * A message does not fit its schema. The message of the error names the field.
   *
   * Mend the input.
   */
  "invalid_argument",
  /**
   * `timeoutMs` or `deadline` is over.
   *
   * Wait longer, or see what the handler waits for.
   */
  "deadline_exceeded",
  /** The handler says so. */
  "not_found",
  /** The handler says so. */
  "already_exists",
  /**
   * The handler, an interceptor or `authenticate` says so.
   *
   * Ask for the permission. The same call fails again.
   */
  "permission_denied",
  /**
   * A [limit](limits.md) is reached, which the message of the error names.
   *
   * Send less, or raise the limit on both sides.
   */
  "resource_exhausted",
  /** The handler says so, or throws a declared error without a code. */
  "failed_precondition",
  /**
   * The handler says so. A call of a method that is `once` has an unknown outcome.
   *
   * Begin the whole task again.
   */
  "aborted",
  /** The handler says so, or a stream cannot go on after the caller's cursor. */
  "out_of_range",
  /**
   * The peer does not serve this method. `hint` says what it serves.
   *
   * Generate the client again, or mount the router.
   */
  "unimplemented",
  /**
   * The handler failed. The server's `onError` has the exception.
   *
   * Look there.
   */
  "internal",
  /**
   * The session is lost, or the server drains or sheds load.
   *
   * With `refused: true` call again. Otherwise call again only what is idempotent.
   */
  "unavailable",
  /**
   * The peer's answer cannot be read, or items of a stream are missing.
   *
   * Compare the versions of the schema.
   */
  "data_loss",
  /**
   * `authenticate` refused the client, or a token is missing or too old.
   *
   * Sign in.
   */
  "unauthenticated",
] as const;

/** Why a call failed. The set is closed: switch over it. */
export type Code = Exclude<(typeof CODES)[number], "ok">;

/** Whether `value` is one of the codes. */
export function isCode(value: unknown): value is Code {
  return value !== "ok" && CODES.some((code) => code === value);
}

/** Returns the number of a code on the wire, 1 to 16. A code that does not exist has the number of `unknown`. */
export function codeNumber(code: Code): number {
  const number = CODES.indexOf(code);
  return number > 0 ? number : CODES.indexOf("unknown");
}

/** The code of a number from the wire; a number that is none reads as `unknown`. */
export function codeFromNumber(number: number): Code {
  const code = CODES[number];
  return code === undefined || code === "ok" ? "unknown" : code;
}
