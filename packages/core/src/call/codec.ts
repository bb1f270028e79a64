import type { z } from "zod";
import type { MessageCodec, PayloadWriter, PlainCodec } from "../contract/codec.js";
import type { Schema } from "../contract/schema.js";
import { appendBytes } from "../contract/session-codec.js";
import { RpcError } from "../errors.js";
import { appendValue, unpack } from "../msgpack/message.js";
import type { UnsharedBytes } from "../platform-types.js";

/** One reason why a value does not fit its schema; the `details` of an `invalid_argument` are a list of them. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
}

/**
 * MessagePack payloads, validated by a zod schema on both sides: what does not fit is neither sent nor delivered.
 * The wire carries what the sender gave; defaults and transforms are the receiver's.
 */
export function zodCodec<S extends Schema>(schema: S): MessageCodec<z.input<S>, z.output<S>> {
  const plain: PlainCodec<z.input<S>, z.output<S>> = {
    encode(value) {
      const { success, error } = schema.safeParse(value);
      if (!success) throw misfit(error);
      return value;
    },
    decode(value) {
      const { success, data, error } = schema.safeParse(value);
      if (!success) throw misfit(error);
      return data;
    },
  };
  return {
    encode: (value, out) => appendValue(plain.encode(value), out),
    decode: (bytes, start, end) => plain.decode(unpackPayload(bytes, start, end)),
    plain,
  };
}

/** MessagePack payloads without validation. */
export function msgpackCodec<T>(): MessageCodec<T> {
  return {
    encode: (value, out) => appendValue(value, out),
    decode: (bytes, start, end) => unpackPayload(bytes, start, end) as T,
    plain: { encode: (value) => value, decode: (value) => value as T },
  };
}

/** Raw bytes, copied as they are: the codec of a side that is `bytes()`. */
export const rawCodec: MessageCodec<Uint8Array, UnsharedBytes> = {
  raw: true,
  encode(value: Uint8Array, out: PayloadWriter): void {
    if (!(value instanceof Uint8Array)) throw new RpcError("invalid_argument", "raw bytes are given as Uint8Array");
    appendBytes(out, value);
  },
  decode: (bytes, start, end) => new Uint8Array(bytes.subarray(start, end)),
};

function unpackPayload(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return unpack(bytes, start, end);
  } catch (error) {
    throw new RpcError("invalid_argument", "the payload is not one MessagePack value", { cause: error });
  }
}

function misfit(error: z.core.$ZodError): RpcError {
  const issues: Issue[] = error.issues.map(({ path, code, message }) => ({
    path: path.map((key) => (typeof key === "symbol" ? String(key) : key)),
    code: code ?? "custom",
    message,
  }));
  const [first] = issues;
  const where = first === undefined || first.path.length === 0 ? "" : ` at ${first.path.join(".")}`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return new RpcError("invalid_argument", `${first?.message ?? "invalid value"}${where}${more}`, { details: issues });
}
