const NOTHING = new Uint8Array(0);
/** Size of the smallest buffer in bytes. It is kept for reuse even if it is empty. */
const SMALL = 1024;

/**
 * The bytes of a stream between the positions `first` and `end`, in a ring buffer. The buffer grows when necessary, and
 * shrinks when few bytes are left.
 */
export class RetainedBytes {
  first = 0;
  end = 0;
  private ring: Uint8Array = NOTHING;

  get length(): number {
    return this.end - this.first;
  }

  /** Size of the buffer in bytes, or 0 if it contains no data, even if it is kept for reuse. */
  get heldBytes(): number {
    return this.length === 0 ? 0 : this.ring.length;
  }

  write(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length === 0) return;
    const needed = this.length + length;
    if (needed > this.ring.length) this.resize(Math.max(SMALL, needed, this.ring.length * 2));
    const { ring } = this;
    const at = this.end % ring.length;
    const untilWrap = ring.length - at;
    if (length <= untilWrap) {
      ring.set(bytes, at);
    } else {
      ring.set(bytes.subarray(0, untilWrap), at);
      ring.set(bytes.subarray(untilWrap), 0);
    }
    this.end += length;
  }

  /**
   * Returns bytes from `position` on, at most `maxBytes` and possibly fewer than are available. The result is only
   * valid until the next write.
   */
  read(position: number, maxBytes: number): Uint8Array {
    const { ring } = this;
    if (position === this.end) return NOTHING;
    const at = position % ring.length;
    return ring.subarray(at, Math.min(ring.length, at + maxBytes, at + this.end - position));
  }

  trim(position: number): void {
    if (position <= this.first) return;
    this.first = position;
    const { length, ring } = this;
    if (ring.length === SMALL || length > ring.length / 4) return;
    // Half stays free, so that the next write finds room.
    if (length === 0) this.ring = NOTHING;
    else this.resize(Math.max(SMALL, length * 2));
  }

  private resize(size: number): void {
    const other = new Uint8Array(size);
    for (let from = this.first; from < this.end; ) {
      const part = this.read(from, size - (from % size));
      other.set(part, from % size);
      from += part.length;
    }
    this.ring = other;
  }
}
