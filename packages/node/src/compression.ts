import zlib from "node:zlib";
import type { Compression } from "@quicrpc/core/internal";
import { pacedCompression } from "./paced-compression.js";

type Transform = (bytes: Uint8Array, options?: { readonly maxOutputLength: number }) => Uint8Array;

/**
 * Returns the compressions that this version of Node supports: zstd (Node 22.15, 23.8 and later), gzip and deflate.
 * Pass the result as the option `compression` of `connect` and `serve`.
 */
export function nodeCompressions(): readonly Compression[] {
  // Newer than the types of the oldest Node that is supported.
  const { zstdCompressSync, zstdDecompressSync } = zlib as {
    zstdCompressSync?: Transform;
    zstdDecompressSync?: Transform;
  };
  const deflate = compression("deflate", zlib.deflateSync, zlib.inflateSync);
  const gzip = compression("gzip", zlib.gzipSync, zlib.gunzipSync);
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return [gzip, deflate];
  return [compression("zstd", zstdCompressSync, zstdDecompressSync), gzip, deflate];
}

function compression(name: Compression["name"], compress: Transform, decompress: Transform): Compression {
  return pacedCompression({
    name,
    compress: (bytes) => compress(bytes),
    // Throws `RangeError` ERR_BUFFER_TOO_LARGE at the first byte beyond.
    decompress: (bytes, maxBytes) => decompress(bytes, { maxOutputLength: Math.max(1, maxBytes) }),
  });
}
