/** Errors that are not complete yet, with the promise that completes them. */
const incomplete: WeakMap<Error, Promise<unknown>> = new WeakMap();

/** Delays `error` until `explanation`, which completes it, has resolved. `explanation` must not reject. */
export function explainLater(error: Error, explanation: Promise<unknown>): void {
  incomplete.set(error, explanation);
}

/** Returns a promise that resolves when `error` is complete; undefined if it is complete already. */
export function whenExplained(error: Error): Promise<unknown> | undefined {
  return incomplete.get(error);
}
