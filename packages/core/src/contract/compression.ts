/** Compression algorithms of the protocol, with their numbers on the wire (docs/protocol.md §3). */
export const COMPRESSION_NUMBERS = {
  /** The zlib format, RFC 1950. */
  deflate: 1,
  /** RFC 1952. */
  gzip: 2,
  /** RFC 8878. */
  zstd: 3,
} as const;

/** A compression algorithm. It is synchronous, because messages are encoded and decoded synchronously. */
export interface Compression {
  readonly name: keyof typeof COMPRESSION_NUMBERS;
  compress(bytes: Uint8Array): Uint8Array;
  /**
   * Decompresses `bytes`. Throws if they are malformed, and `RangeError` if the result would exceed `maxBytes`; it must
   * not produce more than that.
   */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array;
}

/** Compression settings of a session. */
export interface CompressionOptions {
  /** Algorithms that this side can read. It writes the first of them that the peer can read too. */
  readonly algorithms: readonly Compression[];
  /** Smaller messages are not compressed, in bytes. Default 1024. `Infinity` compresses only calls that ask for it. */
  readonly minBytes?: number;
}
