import { countJson, parseOrThrow, readUtf8, shapeOf, writeUtf8, toBase64 } from "@quicrpc/core/internal";
import { type MessageCodec, bytesCodec } from "@quicrpc/core/generated";
import type { Shape } from "@quicrpc/core/codec";
import { appendBytes, RpcError } from "@quicrpc/core";
import { bytesOfBase64, jsonMode } from "./conversions.js";
import { shapeAsIs } from "./own-forms.js";
import { jsonProblem } from "./problems.js";
import { JsonReaders } from "./reader.js";
import { JsonWriters } from "./writer.js";

/**
 * A codec that represents messages as plain JSON: times in RFC 3339, bytes in base64, 64-bit integers as strings, maps
 * as objects.
 */
export interface JsonCodec<In, Out = In> extends MessageCodec<In, Out> {
  /** Returns the JSON of `value`. Throws `RpcError` `invalid_argument` if it does not match the schema. */
  write(value: In): string;
  /** Parses JSON. Throws `RpcError` `invalid_argument`, with the schema's issues, if it is malformed or does not match. */
  read(text: string): Out;
}

const made = new WeakMap<object, JsonCodec<unknown> | RpcError>();

/**
 * Returns the JSON codec for the messages of `codec`, with the same validation. The codec is created once and cached.
 * Throws `RpcError` `unimplemented` if JSON cannot represent all messages, or if `codec` has no schema at run time.
 */
export function jsonCodecOf<In, Out>(codec: MessageCodec<In, Out>): JsonCodec<In, Out> {
  let known = made.get(codec);
  if (known === undefined) made.set(codec, (known = makeCodec(codec)));
  if (known instanceof RpcError) throw known;
  return known as JsonCodec<In, Out>;
}

function makeCodec(codec: MessageCodec<unknown>): JsonCodec<unknown> | RpcError {
  if ((codec as unknown) === bytesCodec) return withBytes(bytesAsText);
  const shape = shapeOf(codec);
  if (shape === undefined) {
    const remedy = "generate it with quicrpc gen, without --no-explain";
    return new RpcError("unimplemented", `JSON needs the message's schema at run time: ${remedy}`);
  }
  const problem = jsonProblem(shape, shapeAsIs);
  if (problem !== undefined) {
    const where = problem.path.length === 0 ? "" : ` at ${problem.path.join(".")}`;
    return new RpcError("unimplemented", `plain JSON cannot represent the message: ${problem.reason}${where}`);
  }
  return withBytes(textCodec(codec, shape));
}

type TextCodec<In, Out = In> = Pick<JsonCodec<In, Out>, "read" | "write">;

function textCodec(codec: MessageCodec<unknown>, shape: Shape): TextCodec<unknown> {
  const read = new JsonReaders().of(shape);
  const writers = new JsonWriters();
  const write = writers.of(shape);
  return {
    read(text) {
      const json = parse(text);
      try {
        return read(json);
      } catch {
        // The text is parsed again, because the reader has changed the first result.
        return parseOrThrow(shape, parse(text), jsonMode);
      }
    },
    write(value) {
      try {
        writers.begin();
        return write(value);
      } catch {
        codec.plain?.encode(value);
        throw new RpcError(
          "invalid_argument",
          "the value cannot be sent: JSON cannot represent it, or it is nested too deeply",
        );
      }
    },
  };
}

/** JSON codec of `bytes()`: a base64 string. */
const bytesAsText: TextCodec<Uint8Array> = {
  read(text) {
    const json = parse(text);
    const bytes = typeof json === "string" ? bytesOfBase64(json) : undefined;
    if (bytes === undefined) throw new RpcError("invalid_argument", "expected bytes in base64");
    return bytes;
  },
  write(value) {
    if (!(value instanceof Uint8Array)) throw new RpcError("invalid_argument", "raw bytes are given as Uint8Array");
    return `"${toBase64(value)}"`;
  },
};

const encoder = new TextEncoder();
/**
 * Maximum characters of a text that is encoded directly into the output buffer, with room for three bytes per
 * character.
 */
const MAX_IN_PLACE = 16 * 1024;

function withBytes<In, Out>({ read, write }: TextCodec<In, Out>): JsonCodec<In, Out> {
  return {
    read,
    write,
    encode(value, out) {
      const text = write(value);
      if (text.length > MAX_IN_PLACE) {
        appendBytes(out, encoder.encode(text));
        return;
      }
      out.reserve(text.length * 3);
      out.position += writeUtf8(out.buffer, out.position, text);
    },
    decode(bytes, start, end) {
      countJson(bytes, start, end);
      const text = readUtf8(bytes, start, end);
      // The text may contain U+FFFD itself, so its bytes are checked.
      if (text.includes(REPLACEMENT)) requireUtf8(bytes.subarray(start, end));
      return read(text);
    },
  };
}

/** The character by which decoders replace invalid UTF-8. */
const REPLACEMENT = "\ufffd";
const strict = new TextDecoder("utf-8", { fatal: true });

function requireUtf8(bytes: Uint8Array): void {
  try {
    strict.decode(bytes);
  } catch {
    throw new RpcError("invalid_argument", "this is not JSON: its bytes are not UTF-8");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RpcError("invalid_argument", `this is not JSON: ${RpcError.from(error).message}`, { cause: error });
  }
}
