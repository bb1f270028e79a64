import { COMPRESSION_NUMBERS } from "../contract/compression.js";
import { ProtocolError, RpcError } from "../errors.js";
import { Cursor } from "../wire/cursor.js";

interface Expander {
  expand(bytes: Uint8Array, start: number, end: number): Uint8Array;
}

/** Decompresses `bytes[start, end)`. Throws `RpcError` if the session has no compression or the data is invalid. */
export function expand(compression: Expander | undefined, bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (compression === undefined) throw unknownCompression(bytes, start, end);
  return compression.expand(bytes, start, end);
}

export function expanded(compression: Expander | undefined, { bytes, position, end }: Cursor): Cursor {
  const message = expand(compression, bytes, position, end);
  return new Cursor(message, 0, message.length);
}

export function unknownCompression(bytes: Uint8Array, start: number, end: number): RpcError {
  if (start >= end) throw new ProtocolError("a compressed message of no bytes");
  const number = bytes[start] as number;
  const known = Object.entries(COMPRESSION_NUMBERS).find(([, its]) => its === number)?.[0];
  return new RpcError("unimplemented", `the compression ${known ?? number} is not known here`);
}
