/** Errors that are not complete yet. */
const incomplete: WeakMap<Error, Promise<unknown>> = new WeakMap();

/** Keeps `error` from callers until `explanation`, which completes it, has fulfilled. It must not reject. */
export function explainLater(error: Error, explanation: Promise<unknown>): void {
  incomplete.set(error, explanation);
}

/** Fulfils once `error` is complete; undefined where it was made so. */
export function whenExplained(error: Error): Promise<unknown> | undefined {
  return incomplete.get(error);
}
