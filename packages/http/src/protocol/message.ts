import type { MessageCodec, PayloadWriter } from "@quicrpc/core/generated";
import { messageTooLarge } from "./body.js";

const FIRST_ROOM = 4096;

/** Buffer in which messages are encoded before they are copied; undefined while a message is being encoded. */
let shared: Uint8Array | undefined = new Uint8Array(FIRST_ROOM);

class Payload implements PayloadWriter {
  buffer: Uint8Array;
  position = 0;

  constructor(buffer: Uint8Array) {
    this.buffer = buffer;
  }

  reserve(length: number): void {
    const needed = this.position + length;
    if (needed <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2));
    larger.set(this.buffer.subarray(0, this.position));
    this.buffer = larger;
  }
}

/**
 * Encodes a message as the body of a request or response; without a codec the body is empty. Throws `RpcError` if the
 * value does not match the schema, and `resource_exhausted` if the message has more than `maxBytes` bytes.
 */
export function encodeMessage(codec: MessageCodec<unknown> | undefined, value: unknown, maxBytes: number): Uint8Array {
  const room = shared ?? new Uint8Array(FIRST_ROOM);
  // The codec may run application code, which may encode another message.
  shared = undefined;
  try {
    const out = new Payload(room);
    codec?.encode(value, out);
    const { buffer, position } = out;
    if (position > maxBytes) throw messageTooLarge(maxBytes);
    return buffer === room ? buffer.slice(0, position) : buffer.subarray(0, position);
  } finally {
    shared = room;
  }
}
