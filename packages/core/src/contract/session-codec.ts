import type { PayloadWriter } from "./codec.js";

/**
 * How a session writes the messages of its calls, in place of standard MessagePack. Schemas are checked beside it: it sees
 * plain values only.
 */
export interface SessionCodec {
  /** Names it on the wire: 1 to 64 of `a-z`, `0-9`, `-`, `.` and `_`. Whoever has the name must read the same bytes. */
  readonly name: string;
  /** Appends `value`. What it throws fails the call with `invalid_argument`. */
  encode(value: unknown, out: PayloadWriter): void;
  /**
   * The one value that fills `bytes[start, end)`, which are valid during the call only: what is kept must be copied. What
   * it throws fails the call with `invalid_argument`.
   */
  decode(bytes: Uint8Array, start: number, end: number): unknown;
}

/** Appends `payload`, for codecs that have whole bytes at once. */
export function appendBytes(out: PayloadWriter, payload: Uint8Array): void {
  out.reserve(payload.length);
  out.buffer.set(payload, out.position);
  out.position += payload.length;
}
