// Types that published declarations need and that a program's `lib` may lack, or have otherwise: what a compiler cannot
// find is `any` without a word where `skipLibCheck` is on, and an error where it is off.

declare global {
  interface SymbolConstructor {
    /** As in lib `esnext.disposable`. */
    readonly asyncDispose: unique symbol;
  }
}

/** Bytes whose memory is not shared: `Uint8Array<ArrayBuffer>` where the compiler's typed arrays are generic (TypeScript 5.7). */
export type UnsharedBytes = ReturnType<typeof Uint8Array.of>;

/** An iterator for `for await`. It returns nothing at its end, and leaving the loop early releases what it holds. */
export interface ItemIterator<Item> extends AsyncIterator<Item, undefined> {
  return(): Promise<IteratorResult<Item, undefined>>;
  [Symbol.asyncIterator](): ItemIterator<Item>;
  [Symbol.asyncDispose](): Promise<void>;
}
