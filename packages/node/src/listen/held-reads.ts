import type { Duplex } from "node:stream";

/**
 * Holds back what arrives on a stream, and stops the peer by flow control, until the function returned is called. What was on
 * its way lies in one piece then: as objects of their own, pieces of one byte would take a hundred times their size.
 */
export function holdReads(stream: Duplex): () => void {
  const push = stream.push.bind(stream);
  const held = new Gathered();
  let ended = false;
  stream.push = (chunk: Uint8Array | null): boolean => {
    if (chunk === null) ended = true;
    else held.append(chunk);
    return false;
  };
  return () => {
    stream.push = push;
    const bytes = held.take();
    if (bytes.length > 0) push(bytes);
    if (ended) push(null);
    // The system's reading was stopped, and a stream that has begun to flow does not ask for it again by itself.
    else if (!stream.destroyed) stream.read(0);
  };
}

/** Bytes that arrived in pieces, in one buffer that grows. */
class Gathered {
  private buffer: Buffer = Buffer.alloc(0);
  private length = 0;

  append(bytes: Uint8Array): void {
    const needed = this.length + bytes.length;
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length, 1024));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    this.buffer.set(bytes, this.length);
    this.length = needed;
  }

  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }
}
