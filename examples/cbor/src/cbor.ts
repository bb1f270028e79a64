import { appendBytes, RpcError, type SessionCodec } from "@quicrpc/core";
import { decode, encode } from "cbor-x";

/**
 * Maximum number of values in a message. An object with a single key, "1000", takes 12 kB, so a message takes at most
 * 40 MB.
 */
const MAX_VALUES = 10_000;
/** Maximum bytes of an integer beyond 64 bits: reading one takes the square of its length. */
const MAX_INTEGER_BYTES = 256;
/**
 * Accepted tags: a date, large integers, Set, Map and typed arrays. Others make a decoder use objects or run functions
 * that a peer names.
 */
const isKnownTag = (tag: number): boolean =>
  (tag >= 1 && tag <= 3) || tag === 258 || tag === 259 || (tag >= 64 && tag <= 87);

/** CBOR (RFC 8949) as the codec of a session. Both sides must have it, under the same name. */
export const cbor: SessionCodec = {
  name: "cbor",
  encode: (value, out) => appendBytes(out, encode(value)),
  decode(bytes, start, end) {
    const message = bytes.subarray(start, end);
    requireBounded(message);
    return decode(message) as unknown;
  },
};

/**
 * Reads only the headers. Throws for a message whose values would take more memory or time to decode than its bytes.
 */
function requireBounded(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 0;
  let isInteger = false;
  for (let values = 0; position < bytes.length; values++) {
    if (values > MAX_VALUES) throw tooLarge(`more than ${MAX_VALUES} values`);
    const byte = view.getUint8(position++);
    const [type, info] = [byte >> 5, byte & 31];
    const size = info >= 24 && info <= 27 ? 1 << (info - 24) : 0;
    const argument = size === 0 ? info : readUint(view, position, size);
    position += size;
    if (isInteger && (type !== 2 || info === 31 || argument > MAX_INTEGER_BYTES)) {
      throw tooLarge(`an integer of more than ${MAX_INTEGER_BYTES} bytes`);
    }
    isInteger = type === 6 && (argument === 2 || argument === 3);
    if (type === 6 && !isKnownTag(argument))
      throw new RpcError("invalid_argument", `CBOR's tag ${argument} is not read here`);
    // A string is followed by its bytes; an array or map by values, which are counted as they are read.
    const left = bytes.length - position;
    const isString = type === 2 || type === 3;
    if (info !== 31 && (isString || type === 4 || type === 5) && argument > left)
      throw tooLarge("more than its bytes hold");
    if (isString && info !== 31) position += argument;
  }
}

function readUint(view: DataView, position: number, size: number): number {
  if (size === 1) return view.getUint8(position);
  if (size === 2) return view.getUint16(position);
  return size === 4 ? view.getUint32(position) : Number(view.getBigUint64(position));
}

function tooLarge(what: string): RpcError {
  return new RpcError("resource_exhausted", `a message in CBOR has ${what}`);
}
