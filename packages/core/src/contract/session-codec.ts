import type { PayloadWriter } from "./codec.js";

/** Encodes the messages of a session in another format than MessagePack. It receives plain values: schemas are checked separately. */
export interface SessionCodec {
  /**
   * The codec's name on the wire: 1 to 64 of `a-z`, `0-9`, `-`, `.` and `_`. Codecs of the same name must be able to
   * read each other's bytes.
   */
  readonly name: string;
  /** Appends `value` to `out`. An error that it throws fails the call with `invalid_argument`. */
  encode(value: unknown, out: PayloadWriter): void;
  /**
   * Decodes the single value in `bytes[start, end)`. The bytes are valid during the call only: copy what is kept. An
   * error that it throws fails the call with `invalid_argument`.
   */
  decode(bytes: Uint8Array, start: number, end: number): unknown;
}

/** Appends the bytes `payload`, for codecs that produce them as a whole. */
export function appendBytes(out: PayloadWriter, payload: Uint8Array): void {
  out.reserve(payload.length);
  out.buffer.set(payload, out.position);
  out.position += payload.length;
}
