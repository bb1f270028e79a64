const NOTHING = new Uint8Array(0);

/** A piece is copied if its underlying buffer is larger than it by at least this factor. */
const MAX_KEPT = 4;

/**
 * A queue of bytes in one buffer, which grows by doubling. A peer that sends single bytes uses no more memory than one
 * that sends large pieces. Returned bytes stay valid.
 */
export class Gathered {
  #buffer: Uint8Array = NOTHING;
  #start = 0;
  #end = 0;
  /**
   * True if this queue allocated the buffer. Otherwise the buffer is a received piece, which must not be written to.
   */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  append(piece: Uint8Array): void {
    const { length } = this;
    if (length === 0) {
      // A reference to a small piece would keep the whole buffer in which it arrived alive.
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

  /** Removes and returns the next `length` bytes, all of which must be in the queue. */
  take(length: number): Uint8Array {
    this.#start += length;
    return this.#buffer.subarray(this.#start - length, this.#start);
  }
}
