import type { MessageCodec, PayloadWriter, PlainCodec } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { appendValue, unpackExactly } from "../msgpack/message.js";
import { Reader } from "../msgpack/reader.js";
import { Mode, run, type Shape, type ShapeIssue, type ShapePayload } from "./shape.js";

/** Writes `value` at `p` and returns the position after it, which lies beyond the buffer where there is no room. */
export type Write<In> = (b: Uint8Array, p: number, value: In) => number;
/** Reads the value at `p` and leaves the position after it in the reader. */
export type Read<Out> = (r: Reader, p: number) => Out;

/** Room asked for before a message of unknown size is written. */
const FIRST_ROOM = 256;
/** Room that is asked for without having looked: no more than this is remembered of a large message. */
const MOST_ROOM = 64 * 1024;

/**
 * The codec of one message. `write` and `read` are compiled and do what fits; on a misfit `shape`, which does the same
 * without haste, says what is wrong, or that nothing is.
 */
export function codec<In, Out>(shape: () => Shape, write: Write<In>, read: Read<Out>): MessageCodec<In, Out> {
  return { encode: encoding(shape, write), decode: decoding(shape, read), plain: plain(shape) };
}

/** The codec of a message that this side only sends: should it have to read one, `shape` does that alone. */
export function encoder<In>(shape: () => Shape, write: Write<In>): MessageCodec<In, never> {
  return {
    encode: encoding(shape, write),
    decode: (bytes, start, end) => decodeCarefully(shape(), bytes, start, end) as never,
    plain: plain(shape),
  };
}

/** The codec of a message that this side only receives: should it have to write one, `shape` does that alone. */
export function decoder<Out>(shape: () => Shape, read: Read<Out>): MessageCodec<unknown, Out> {
  return {
    encode: (value, out) => encodeCarefully(shape(), value, out),
    decode: decoding(shape, read),
    plain: plain(shape),
  };
}

function encoding<In>(shape: () => Shape, write: Write<In>): MessageCodec<In>["encode"] {
  let room = FIRST_ROOM;
  return (value, out) => {
    try {
      out.reserve(room);
      let end = write(out.buffer, out.position, value);
      if (end > out.buffer.length) {
        const needed = end - out.position;
        room = Math.min(Math.max(room, needed), MOST_ROOM);
        out.reserve(needed);
        end = write(out.buffer, out.position, value);
      }
      out.position = end;
    } catch {
      encodeCarefully(shape(), value, out);
    }
  };
}

function decoding<Out>(shape: () => Shape, read: Read<Out>): MessageCodec<unknown, Out>["decode"] {
  return (bytes, start, end) => {
    const r = takeReader();
    try {
      r.begin(bytes, start, end);
      const value = read(r, start);
      if (r.position === end) return value;
    } catch {
      // Not what was expected, or not enough of it.
    } finally {
      idle = r;
    }
    return decodeCarefully(shape(), bytes, start, end) as Out;
  };
}

function plain<In, Out>(shape: () => Shape): PlainCodec<In, Out> {
  return {
    encode(value) {
      parseOrThrow(shape(), value, Mode.Given);
      return value;
    },
    decode: (value) => parseOrThrow(shape(), value, Mode.Given) as Out,
  };
}

let idle: Reader | undefined;

/** A reader that is not in use: a refinement that decodes something itself gets another one. */
function takeReader(): Reader {
  const r = idle ?? new Reader();
  idle = undefined;
  return r;
}

function encodeCarefully(shape: Shape, value: unknown, out: PayloadWriter): void {
  parseOrThrow(shape, value, Mode.Given);
  try {
    appendValue(value, out);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RpcError("invalid_argument", `the value cannot be sent: ${reason}`, { cause: error });
  }
}

function decodeCarefully(shape: Shape, bytes: Uint8Array, start: number, end: number): unknown {
  return parseOrThrow(shape, readPayload(bytes, start, end), Mode.Wire);
}

/** What `shape` makes of `value`. */
function parseOrThrow(shape: Shape, given: unknown, mode: Mode): unknown {
  const { value, issues } = parse(shape, given, mode);
  if (issues.length > 0) throw misfitError(issues);
  return value;
}

/** Runs `shape`; a transform or refinement that throws has met a value it was not made for. */
function parse(shape: Shape, value: unknown, mode: Mode): ShapePayload {
  try {
    return run(shape, value, mode);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RpcError("invalid_argument", `the schema fails on this value: ${reason}`, { cause: error });
  }
}

function readPayload(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return unpackExactly(bytes, start, end);
  } catch (error) {
    throw new RpcError("invalid_argument", "the payload is not one MessagePack value", { cause: error });
  }
}

function misfitError(issues: readonly ShapeIssue[]): RpcError {
  const details = issues.map(({ path, code, message }) => ({
    path: path.map((key) => (typeof key === "symbol" ? String(key) : key)),
    code,
    message,
  }));
  const [first] = details;
  const where = first === undefined || first.path.length === 0 ? "" : ` at ${first.path.join(".")}`;
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : "";
  return new RpcError("invalid_argument", `${first?.message}${where}${more}`, { details });
}
