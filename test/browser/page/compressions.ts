import type { Compression } from "@quicrpc/core/internal";
import { Gunzip, gzipSync, Unzlib, zlibSync } from "fflate";

/** Stands for `@quicrpc/node` in the page: what compresses there, by fflate. */
export function nodeCompressions(): readonly Compression[] {
  return [
    { name: "gzip", compress: gzipSync, decompress: (bytes, maxBytes) => expand(Gunzip, bytes, maxBytes) },
    { name: "deflate", compress: zlibSync, decompress: (bytes, maxBytes) => expand(Unzlib, bytes, maxBytes) },
  ];
}

type Expander = new (
  onData: (chunk: Uint8Array, last: boolean) => void,
) => { push(bytes: Uint8Array, last: boolean): void };

/** Throws `RangeError` at the first piece beyond `maxBytes`. */
function expand(Kind: Expander, bytes: Uint8Array, maxBytes: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  const expander = new Kind((chunk, last) => {
    size += chunk.length;
    if (size > maxBytes) throw new RangeError(`more than ${maxBytes} bytes`);
    chunks.push(chunk);
    ended = last;
  });
  expander.push(bytes, true);
  if (!ended) throw new Error("unexpected end");
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
