const NOTHING = new Uint8Array(0);

/** A piece that is larger than its share of the underlying buffer by this factor is copied. */
const MAX_KEPT = 4;

/**
 * A byte queue in one buffer, which grows by doubling. A peer that sends a byte at a time makes this side hold no more
 * memory than another. Returned bytes stay valid.
 */
export class Gathered {
  #buffer: Uint8Array = NOTHING;
  #start = 0;
  #end = 0;
  /** Whether the buffer was allocated here. Otherwise it is the only piece, which must not be written to. */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  append(piece: Uint8Array): void {
    const { length } = this;
    if (length === 0) {
      // A small piece would keep the whole buffer in which it arrived alive.
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

  /** Returns the next `length` bytes, which must have arrived. */
  take(length: number): Uint8Array {
    this.#start += length;
    return this.#buffer.subarray(this.#start - length, this.#start);
  }
}
