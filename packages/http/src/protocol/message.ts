import type { MessageCodec, PayloadWriter } from "@quicrpc/core/generated";
import { tooLarge } from "./body.js";

const FIRST_ROOM = 256;

/** A growing buffer for one message. */
class Payload implements PayloadWriter {
  buffer: Uint8Array = new Uint8Array(FIRST_ROOM);
  position = 0;

  reserve(length: number): void {
    const needed = this.position + length;
    if (needed <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2));
    larger.set(this.buffer.subarray(0, this.position));
    this.buffer = larger;
  }
}

/**
 * Returns a message as the body of a request or an answer; without a codec there is none, and no bytes. Throws `RpcError`: what the codec
 * throws for a value that does not fit, `resource_exhausted` for more than `maxBytes`.
 */
export function encodeMessage(codec: MessageCodec<unknown> | undefined, value: unknown, maxBytes: number): Uint8Array {
  const out = new Payload();
  codec?.encode(value, out);
  if (out.position > maxBytes) throw tooLarge(maxBytes);
  return out.buffer.subarray(0, out.position);
}
