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

/** Most nesting levels of maps and sets in a message of `zodCodec`: each needs another run of zod. */
const MAX_REVIVALS = 8;

/**
 * Encodes messages as MessagePack, and validates them with a zod schema on both sides: a message that does not match is
 * neither sent nor delivered. The wire carries the sender's value; the receiver applies defaults and transforms.
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
  const parse = (given: unknown, exact: () => unknown): z.output<S> => {
    let value = given;
    for (let revivals = 0; ; revivals++) {
      const { success, data, error } = parseOnce(value);
      if (success) return data;
      const again = revivals < MAX_REVIVALS ? revived(value, exact, error.issues) : undefined;
      if (again === undefined) throw misfitError(error.issues);
      ({ value } = again);
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
      // Each value takes at least a byte.
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

/** Options of `zodCodec`. */
interface ZodCodecOptions {
  /**
   * Values in one message, those inside objects and arrays counted. More are refused with `resource_exhausted`, since zod cannot be
   * stopped and describes every value that does not fit. Default: 100,000.
   */
  readonly maxNodes?: number;
}

/** MessagePack payloads without a schema: nothing is checked. */
export function uncheckedCodec<T>(): MessageCodec<T> {
  return {
    encode: (value, out) => appendValue(value, out),
    decode: (bytes, start, end) => unpackPayload(bytes, start, end) as T,
    plain: { encode: (value) => value, decode: (value) => value as T },
  };
}

/** The codec of `bytes()`: chunks of bytes, copied unchanged. */
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
