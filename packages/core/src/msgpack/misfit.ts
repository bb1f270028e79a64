/**
 * The mismatch error. Compiled readers and writers throw it for unexpected bytes or values; the codec then parses again
 * with its shape to find the issues.
 */
const MISFIT: Error = new Error("a value does not fit its schema");

export function isMisfit(error: unknown): boolean {
  return error === MISFIT;
}

/**
 * Throws the mismatch error, so that the slower code handles the value. The error is shared and has no useful stack,
 * since it may be thrown often.
 */
export function misfit(): never {
  throw MISFIT;
}
