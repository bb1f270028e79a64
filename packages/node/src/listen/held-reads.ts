import type { Duplex } from "node:stream";

/** Incoming bytes of a stream whose delivery is held back. */
export interface HeldReads {
  /** Delivers `bytes` more bytes to the stream's reader. */
  pass(bytes: number): void;
  /** Delivers all bytes from now on. */
  release(): void;
}

/**
 * Stops the delivery of a stream's bytes until it is released, so that flow control stops the peer. Bytes that arrive
 * meanwhile are collected in one buffer, because chunks of one byte would take a hundred times their size as separate
 * objects.
 *
 * @param onHeld called with the number of bytes of each chunk that is held back
 */
export function holdReads(stream: Duplex, onHeld?: (bytes: number) => void): HeldReads {
  // oxlint-disable-next-line typescript/unbound-method -- it is called on the stream, and put back as it was
  const original = stream.push;
  const push = (chunk: Uint8Array | null): boolean => original.call(stream, chunk);
  const gathered = new Gathered();
  let allowed = 0;
  let hasEnded = false;
  /** Delivers the bytes that are permitted and keeps the rest. Returns true if the stream may deliver more. */
  const deliverAllowed = (bytes: Uint8Array): boolean => {
    const passing = bytes.subarray(0, allowed);
    allowed -= passing.length;
    gathered.append(bytes.subarray(passing.length));
    onHeld?.(bytes.length - passing.length);
    const wantsMore = passing.length === 0 || push(passing);
    return wantsMore && allowed > 0;
  };
  stream.push = (chunk: Uint8Array | null): boolean => {
    if (chunk !== null) return deliverAllowed(chunk);
    hasEnded = true;
    // The reader of the allowed bytes must see their end.
    if (allowed > 0 && gathered.isEmpty) push(null);
    return false;
  };
  return {
    pass(bytes) {
      allowed += bytes;
      if (!gathered.isEmpty) deliverAllowed(gathered.takeAll());
      if (!hasEnded && allowed > 0 && !stream.destroyed) stream.read(0);
    },
    release() {
      stream.push = original;
      const bytes = gathered.takeAll();
      if (bytes.length > 0) push(bytes);
      if (hasEnded) push(null);
      // Node has stopped reading from the system, and a flowing stream does not start to read again automatically.
      else if (!stream.destroyed) stream.read(0);
    },
  };
}

/** Collects chunks of bytes in one growing buffer. */
class Gathered {
  private buffer: Buffer = Buffer.alloc(0);
  private length = 0;

  get isEmpty(): boolean {
    return this.length === 0;
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const needed = this.length + bytes.length;
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length, 1024));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    this.buffer.set(bytes, this.length);
    this.length = needed;
  }

  takeAll(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }
}
