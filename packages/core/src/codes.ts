/**
 * The status codes: gRPC's sixteen, spelled as in Connect. A code's index is its number on the wire, in error frames
 * and in stream resets; 0 is success. Each comment states when a call fails with the code, and then what the caller can
 * do; docs/error-codes.md has the same texts.
 */
const CODES = [
  "ok",
  /**
   * The caller aborted its `signal`, or stopped reading a stream.
   *
   * Nothing.
   */
  "cancelled",
  /**
   * The response has a code that this side does not know, or something else responded, such as a proxy.
   *
   * Look at `cause`.
   */
  "unknown",
  /**
   * A message does not match its schema. The error's message names the field.
   *
   * Correct the input.
   */
  "invalid_argument",
  /**
   * `timeoutMs` or `deadline` has passed.
   *
   * Use a longer timeout, or find out why the handler is slow.
   */
  "deadline_exceeded",
  /** The handler throws it. */
  "not_found",
  /** The handler throws it. */
  "already_exists",
  /**
   * The handler, an interceptor or `authenticate` throws it.
   *
   * Ask for the permission. Repeating the call does not help.
   */
  "permission_denied",
  /**
   * A [limit](limits.md) is reached; the error's message names it.
   *
   * Send less, or raise the limit on both sides.
   */
  "resource_exhausted",
  /** The handler throws it, or throws a declared error without a code. */
  "failed_precondition",
  /**
   * The handler throws it, or the outcome of a `once` call is unknown.
   *
   * Start the whole operation again.
   */
  "aborted",
  /** The handler throws it, or a stream cannot continue after the caller's cursor. */
  "out_of_range",
  /**
   * The peer does not serve this method. The message lists what it serves, if all callers may know that.
   *
   * Generate the client again, or mount the router.
   */
  "unimplemented",
  /**
   * The handler failed. The server's `onError` received the exception.
   *
   * Look at the server's log.
   */
  "internal",
  /**
   * The session was lost, or the server is draining or shedding load.
   *
   * If `refused` is true, repeat the call. Otherwise repeat only idempotent calls.
   */
  "unavailable",
  /**
   * The peer's response cannot be decoded, or items of a stream are missing.
   *
   * Compare the versions of the schema.
   */
  "data_loss",
  /**
   * `authenticate` refused the client, or a token is missing or expired.
   *
   * Sign in.
   */
  "unauthenticated",
] as const;

/** The reason why a call failed. The set of codes is closed, so a `switch` can be exhaustive. */
export type Code = Exclude<(typeof CODES)[number], "ok">;

/** Returns true if `value` is one of the codes. */
export function isCode(value: unknown): value is Code {
  return value !== "ok" && CODES.some((code) => code === value);
}

/** Returns the number of a code on the wire, 1 to 16. An unknown code has the number of `unknown`. */
export function codeNumber(code: Code): number {
  const number = CODES.indexOf(code);
  return number > 0 ? number : CODES.indexOf("unknown");
}

export function codeFromNumber(number: number): Code {
  const code = CODES[number];
  return code === undefined || code === "ok" ? "unknown" : code;
}
