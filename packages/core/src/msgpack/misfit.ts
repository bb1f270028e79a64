/** Thrown where bytes or a value are not what compiled code expects. Whoever catches it finds out why, at leisure. */
const MISFIT: Error = new Error("a value does not fit its schema");

/** Whether `error` is what `misfit` throws. */
export function isMisfit(error: unknown): boolean {
  return error === MISFIT;
}

/** Leaves the fast path: the careful one takes over. Without a stack of its own, since it may be thrown often. */
export function misfit(): never {
  throw MISFIT;
}
