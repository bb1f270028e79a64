/** Numbers of the compression algorithms in the protocol (docs/protocol.md §3). */
export const COMPRESSION_NUMBERS = {
  /** The zlib format (RFC 1950). */
  deflate: 1,
  /** The gzip format (RFC 1952). */
  gzip: 2,
  /** The Zstandard format (RFC 8878). */
  zstd: 3,
} as const;

/** A compression algorithm. Its methods are synchronous, because messages are encoded and decoded synchronously. */
export interface Compression {
  readonly name: keyof typeof COMPRESSION_NUMBERS;
  compress(bytes: Uint8Array): Uint8Array;
  /**
   * Decompresses `bytes`. Throws if they are malformed. Throws `RangeError` if the result would exceed `maxBytes`,
   * without producing more than that.
   */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array;
}

export interface CompressionOptions {
  /** Algorithms that this side supports. It compresses with the first one that the peer supports too. */
  readonly algorithms: readonly Compression[];
  /**
   * Minimum size of a message to compress, in bytes. `Infinity` compresses only calls with the option `compress: true`.
   * Default 1024.
   */
  readonly minBytes?: number;
}
