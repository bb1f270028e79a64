import { appendBytes, type SessionCodec } from "../../contract/session-codec.js";
import { RpcError } from "../../errors.js";
import { unpack } from "../../msgpack/unpack.js";
import { pack } from "../../msgpack/pack.js";
import { BYTES_VALUES, count } from "../../msgpack/reader.js";

/** Standard MessagePack (any language reads it): what sessions use unless told otherwise. */
export const msgpack: SessionCodec = {
  name: "msgpack",
  encode: (value, out) => appendBytes(out, pack(value)),
  decode: (bytes, start, end) => unpack(bytes, start, end),
};

/** Passes bytes unchanged; other values are refused. */
export const raw: SessionCodec = {
  name: "raw",
  encode(value, out) {
    if (!(value instanceof Uint8Array)) throw new RpcError("invalid_argument", "the codec raw takes Uint8Array only");
    appendBytes(out, value);
  },
  decode(bytes, start, end) {
    count(BYTES_VALUES);
    return bytes.slice(start, end);
  },
};
