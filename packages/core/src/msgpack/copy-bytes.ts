import type { UnsharedBytes } from "../platform-types.js";

/** Copies `bytes[start, stop)` into memory of its own. */
// Not bytes.slice: a Buffer's shares its memory.
export let copyBytes = (bytes: Uint8Array, start: number, stop: number): UnsharedBytes =>
  Uint8Array.prototype.slice.call(bytes, start, stop);

/** Has `onCopied` receive how many bytes were copied out of a payload, each time from now on, in this thread. */
export function watchCopies(onCopied: (bytes: number) => void): void {
  const copy = copyBytes;
  copyBytes = (bytes, start, stop) => {
    onCopied(stop - start);
    return copy(bytes, start, stop);
  };
}
