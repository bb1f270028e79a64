// Types that published declarations use, but that a program's `lib` may lack or declare differently. The compiler
// treats an unknown type as `any` without a message if `skipLibCheck` is on, and reports an error if it is off.

declare global {
  interface SymbolConstructor {
    /** As in lib `esnext.disposable`. */
    readonly asyncDispose: unique symbol;
  }
}

/** Bytes whose memory is not shared: `Uint8Array<ArrayBuffer>` if typed arrays are generic (TypeScript 5.7 and later). */
export type UnsharedBytes = ReturnType<typeof Uint8Array.of>;

/** An iterator for `for await`. Its return value is undefined, and leaving the loop early releases its resources. */
export interface ItemIterator<Item> extends AsyncIterator<Item, undefined> {
  return(): Promise<IteratorResult<Item, undefined>>;
  [Symbol.asyncIterator](): ItemIterator<Item>;
  [Symbol.asyncDispose](): Promise<void>;
}
