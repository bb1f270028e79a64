/**
 * Encodes values as payload bytes and decodes them. `In` is the sender's type and `Out` the receiver's; they differ if
 * the schema has defaults or transforms.
 */
export interface MessageCodec<In, Out = In> {
  /** Appends the payload of `value` to `out`. Throws `RpcError` if the value does not match the schema. */
  encode(value: In, out: PayloadWriter): void;
  /**
   * Decodes `bytes[start, end)`. The bytes are valid during the call only: copy what is kept. Throws `RpcError`
   * `invalid_argument` with the schema's issues if the value does not match.
   */
  decode(bytes: Uint8Array, start: number, end: number): Out;
  /** True if the payload is raw bytes, not a message: see `bytes()`. */
  readonly bytes?: true;
  /**
   * Converts to and from plain values instead of MessagePack, for sessions with another codec. Without it, messages are
   * converted by way of MessagePack.
   */
  readonly plain?: PlainCodec<In, Out>;
}

/** The part of a message codec that does not involve bytes. */
export interface PlainCodec<In, Out = In> {
  /** Returns the value to encode. Throws `RpcError` if `value` does not match the schema. */
  encode(value: In): unknown;
  /** Returns the value to deliver for a decoded one. Throws `RpcError` `invalid_argument` if it does not match the schema. */
  decode(plain: unknown): Out;
}

/** A growing buffer to which payloads are appended. */
export interface PayloadWriter {
  /** Valid until the next `reserve`. */
  buffer: Uint8Array;
  /** Index of the next byte to write. */
  position: number;
  /** Ensures room for `length` more bytes. May replace `buffer`. */
  reserve(length: number): void;
}

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
