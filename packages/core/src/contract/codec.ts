/**
 * Encodes and decodes the messages of a method. `In` is the type that the sender passes and `Out` the type that the
 * receiver gets; they differ if the schema has defaults or transforms.
 */
export interface MessageCodec<In, Out = In> {
  /** Encodes `value` and appends the bytes to `out`. Throws `RpcError` if `value` does not match the schema. */
  encode(value: In, out: PayloadWriter): void;
  /**
   * Decodes `bytes[start, end)`. The bytes are valid only during this call: copy bytes that the result refers to.
   * Throws `RpcError` `invalid_argument` with the schema's issues if the value does not match the schema.
   */
  decode(bytes: Uint8Array, start: number, end: number): Out;
  /** True for a stream of raw bytes without messages; see `bytes()`. */
  readonly bytes?: true;
  /**
   * Converts messages to and from plain values, for sessions that do not use MessagePack. If absent, messages are
   * converted by encoding them as MessagePack.
   */
  readonly plain?: PlainCodec<In, Out>;
}

/** The part of a message codec that checks and converts values, without encoding them as bytes. */
export interface PlainCodec<In, Out = In> {
  /** Returns the plain value to send. Throws `RpcError` if `value` does not match the schema. */
  encode(value: In): unknown;
  /**
   * Converts a received plain value to the message to deliver. Throws `RpcError` `invalid_argument` if it does not
   * match the schema.
   */
  decode(plain: unknown): Out;
}

/** A growing buffer to which codecs append bytes. */
export interface PayloadWriter {
  /** The buffer. `reserve` may replace it by a larger one. */
  buffer: Uint8Array;
  /** Index of the next byte to write. */
  position: number;
  /** Ensures that `buffer` has space for `length` more bytes. May replace `buffer`. */
  reserve(length: number): void;
}

/**
 * Encodes the messages of a session in another format than MessagePack. It converts plain values; schemas are checked
 * separately.
 */
export interface SessionCodec {
  /**
   * Name of the codec, which is sent to the peer: 1 to 64 of the characters `a-z`, `0-9`, `-`, `.` and `_`. Codecs with
   * the same name must use the same format.
   */
  readonly name: string;
  /** Encodes `value` and appends the bytes to `out`. If it throws, the call fails with `invalid_argument`. */
  encode(value: unknown, out: PayloadWriter): void;
  /**
   * Decodes the value in `bytes[start, end)`. The bytes are valid only during this call: copy bytes that the result
   * refers to. If it throws, the call fails with `invalid_argument`.
   */
  decode(bytes: Uint8Array, start: number, end: number): unknown;
}

/** Appends the bytes of `payload` to `out`. For codecs whose encoder returns a complete `Uint8Array`. */
export function appendBytes(out: PayloadWriter, payload: Uint8Array): void {
  out.reserve(payload.length);
  out.buffer.set(payload, out.position);
  out.position += payload.length;
}
