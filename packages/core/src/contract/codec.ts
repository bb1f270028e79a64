/**
 * Turns values into payload bytes and back. `In` is what a sender gives, `Out` what a receiver gets: they differ where
 * the schema has defaults or transforms.
 */
export interface MessageCodec<In, Out = In> {
  /** Appends the payload of `value`. Throws `RpcError` when the value does not fit the schema. */
  encode(value: In, out: PayloadWriter): void;
  /**
   * Reads `bytes[start, end)`, which are valid during the call only: what is kept must be copied. Throws `RpcError` `invalid_argument` with
   * the schema's issues when it does not fit.
   */
  decode(bytes: Uint8Array, start: number, end: number): Out;
  /** The payload is the bytes that were given, not a message: see `bytes()`. */
  readonly bytes?: true;
  /**
   * The same in plain values instead of MessagePack, for sessions of another codec; without it their messages go by way of
   * MessagePack.
   */
  readonly plain?: PlainCodec<In, Out>;
}

/** The part of a message codec that has nothing to do with bytes. */
export interface PlainCodec<In, Out = In> {
  /** Returns the value to encode. Throws `RpcError` when the given one does not fit the schema. */
  encode(value: In): unknown;
  /** Returns the value to deliver for a decoded one. Throws `RpcError` `invalid_argument` when that does not fit. */
  decode(plain: unknown): Out;
}

/** The growing buffer that payloads are appended to. */
export interface PayloadWriter {
  /** Valid until the next `reserve`. */
  buffer: Uint8Array;
  /** Where the next byte goes. */
  position: number;
  /** Makes room for `length` more bytes; may replace `buffer`. */
  reserve(length: number): void;
}
