/** Ways to compress that the protocol knows, with their numbers on the wire (docs/protocol.md §3). */
export const COMPRESSION_NUMBERS = {
  /** The zlib format, RFC 1950. */
  deflate: 1,
  /** RFC 1952. */
  gzip: 2,
  /** RFC 8878. */
  zstd: 3,
} as const;

/** A way to compress messages. It is synchronous: a call is encoded and decoded in one go. */
export interface Compression {
  readonly name: keyof typeof COMPRESSION_NUMBERS;
  compress(bytes: Uint8Array): Uint8Array;
  /** Throws when `bytes` cannot be read: `RangeError` where more than `maxBytes` would come out, which it must not produce. */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array;
}

/** How a session compresses. */
export interface CompressionOptions {
  /** Algorithms that this side reads. It writes the first that the peer reads too. */
  readonly algorithms: readonly Compression[];
  /** Messages of fewer bytes are not compressed. Default 1024; `Infinity` leaves it to calls that ask for it. */
  readonly minBytes?: number;
}
