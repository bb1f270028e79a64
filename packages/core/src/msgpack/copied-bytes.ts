/** Bytes of payloads until `onCopied` is called. */
let left: number = Number.POSITIVE_INFINITY;
let onCopied: () => number;

/** Counts bytes of a payload that were copied into memory of their own, outside the heap of JavaScript. */
export function countCopied(bytes: number): void {
  if ((left -= bytes) < 0) left = onCopied();
}

/**
 * Has `then` called when `bytes` more were copied out of payloads in this thread, and again after as many more as it returns. There is one
 * such function: a later one replaces it.
 */
export function afterCopied(bytes: number, then: () => number): void {
  left = bytes;
  onCopied = then;
}
