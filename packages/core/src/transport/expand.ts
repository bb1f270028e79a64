import { COMPRESSION_NUMBERS } from "../contract/compression.js";
import { ProtocolError, RpcError } from "../errors.js";

/** Decompresses for a session that may have no compression. */
export function expand(
  compression: { expand(bytes: Uint8Array, start: number, end: number): Uint8Array } | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
): Uint8Array {
  if (compression === undefined) throw unknownCompression(bytes, start, end);
  return compression.expand(bytes, start, end);
}

/** Makes the error of a message that is compressed as this side cannot read. Throws `ProtocolError` for one of no bytes. */
export function unknownCompression(bytes: Uint8Array, start: number, end: number): RpcError {
  if (start >= end) throw new ProtocolError("a compressed message of no bytes");
  const number = bytes[start] as number;
  const known = Object.entries(COMPRESSION_NUMBERS).find(([, its]) => its === number)?.[0];
  return new RpcError("unimplemented", `the compression ${known ?? number} is not known here`);
}
