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
  readonly raw?: true;
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
