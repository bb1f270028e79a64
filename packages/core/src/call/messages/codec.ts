import type { z } from "zod";
import { type MessageCodec, type PayloadWriter, type PlainCodec, appendBytes } from "../../contract/codec.js";
import type { Schema } from "../../contract/service.js";
import { type CostlyText, costlyText } from "../../codec/costly-texts.js";
import { misfitError, schemaFailure } from "../../codec/misfit-error.js";
import { MAX_NODES, requireFewNodes } from "../../codec/nodes.js";
import { RpcError } from "../../errors.js";
import { copyBytes } from "../../msgpack/read-scalars.js";
import { unpack, unpackExactly, appendValue } from "../../msgpack/pack.js";
import { BYTES_VALUES, count } from "../../msgpack/reader.js";
import { revived } from "./revive.js";
import type { UnsharedBytes } from "../../platform-types.js";

/** Maximum nesting of Maps and Sets in a message of `zodCodec`. Each level needs another run of zod. */
const MAX_REVIVALS = 8;

/**
 * Returns a codec that encodes messages as MessagePack and validates them with a zod schema. Encoding and decoding
 * throw `RpcError` `invalid_argument` if a message does not match. The sender sends the value unchanged; the receiver
 * applies defaults and transforms.
 */
export function zodCodec<S extends Schema>(
  schema: S,
  { maxNodes = MAX_NODES }: ZodCodecOptions = {},
): MessageCodec<z.input<S>, z.output<S>> {
  const parseOnce = (value: unknown): z.ZodSafeParseResult<z.output<S>> => {
    let costly: CostlyText | undefined;
    try {
      costly = costlyText(schema, value);
      if (costly === undefined) return schema.safeParse(value) as z.ZodSafeParseResult<z.output<S>>;
    } catch (error) {
      throw schemaFailure(error);
    }
    throw misfitError([costly]);
  };
  const check = (value: unknown): void => {
    const { success, error } = parseOnce(value);
    if (!success) throw misfitError(error.issues);
  };
  const parse = (candidate: unknown, exact: () => unknown): z.output<S> => {
    let value = candidate;
    for (let revivals = 0; ; revivals++) {
      const { success, data, error } = parseOnce(value);
      if (success) return data;
      const retried = revivals < MAX_REVIVALS ? revived(value, exact, error.issues) : undefined;
      if (retried === undefined) throw misfitError(error.issues);
      ({ value } = retried);
    }
  };
  const plain: PlainCodec<z.input<S>, z.output<S>> = {
    encode(value) {
      requireFewNodes(value, maxNodes);
      check(value);
      return value;
    },
    decode(value) {
      requireFewNodes(value, maxNodes);
      return parse(value, () => undefined);
    },
  };
  return {
    encode(value, out) {
      check(value);
      const start = out.position;
      appendValue(value, out);
      // Each value takes at least one byte, so a short message needs no count.
      if (out.position - start > maxNodes) requireFewNodes(value, maxNodes);
    },
    decode(bytes, start, end) {
      const value = unpackPayload(bytes, start, end);
      if (end - start > maxNodes) requireFewNodes(value, maxNodes);
      return parse(value, () => unpackExactly(bytes, start, end));
    },
    plain,
  };
}

interface ZodCodecOptions {
  /**
   * Maximum number of values in one message, including the values inside objects and arrays. A larger message fails
   * with `resource_exhausted`, because zod cannot be interrupted and describes every invalid value. Default: 100,000.
   */
  readonly maxNodes?: number;
}

/** Returns a codec that encodes messages as MessagePack without checking them against a schema. */
export function uncheckedCodec<T>(): MessageCodec<T> {
  return {
    encode: (value, out) => appendValue(value, out),
    decode: (bytes, start, end) => unpackPayload(bytes, start, end) as T,
    plain: { encode: (value) => value, decode: (value) => value as T },
  };
}

/** Codec of the schema `bytes()`. It copies chunks of bytes unchanged. */
export const bytesCodec: MessageCodec<Uint8Array, UnsharedBytes> = {
  bytes: true,
  encode(value: Uint8Array, out: PayloadWriter): void {
    if (!(value instanceof Uint8Array)) throw new RpcError("invalid_argument", "raw bytes are given as Uint8Array");
    appendBytes(out, value);
  },
  decode(bytes, start, end) {
    count(BYTES_VALUES);
    // A copy of a Buffer would be a Buffer.
    return copyBytes(new Uint8Array(bytes.buffer), bytes.byteOffset + start, bytes.byteOffset + end);
  },
};

function unpackPayload(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return unpack(bytes, start, end);
  } catch (error) {
    throw new RpcError("invalid_argument", "the payload is not one MessagePack value", { cause: error });
  }
}
