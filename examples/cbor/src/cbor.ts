import { appendBytes, type SessionCodec } from "@quicrpc/core";
import { decode, encode } from "cbor-x";

/** CBOR (RFC 8949) as the codec of a session. Both sides must have it, under the same name. */
export const cbor: SessionCodec = {
  name: "cbor",
  encode: (value, out) => appendBytes(out, encode(value)),
  decode: (bytes, start, end) => decode(bytes.subarray(start, end)) as unknown,
};
