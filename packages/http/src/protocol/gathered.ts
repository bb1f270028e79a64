const NOTHING = new Uint8Array(0);

/** How many times its size a piece may keep that is not copied. */
const MAX_KEPT = 4;

/**
 * Bytes that arrive in pieces of any size, in one buffer that grows by doubling: so a peer that sends a byte at a time makes this side hold
 * no more than one that does not. What was taken stays valid.
 */
export class Gathered {
  #buffer: Uint8Array = NOTHING;
  #start = 0;
  #end = 0;
  /** Whether the buffer was made here; else it is the only piece, which nobody may write to. */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  append(piece: Uint8Array): void {
    const { length } = this;
    if (length === 0) {
      // A small piece would keep all of the buffer that it came in.
      this.#isOwn = piece.length * MAX_KEPT < piece.buffer.byteLength;
      this.#buffer = this.#isOwn ? piece.slice() : piece;
      this.#start = 0;
      this.#end = piece.length;
      return;
    }
    if (!this.#isOwn || this.#end + piece.length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length + piece.length, length * 2));
      larger.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = larger;
      this.#isOwn = true;
      this.#start = 0;
      this.#end = length;
    }
    this.#buffer.set(piece, this.#end);
    this.#end += piece.length;
  }

  /** Returns the next `length` bytes, of those that are there. */
  take(length: number): Uint8Array {
    this.#start += length;
    return this.#buffer.subarray(this.#start - length, this.#start);
  }
}
