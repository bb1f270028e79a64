import type { MessageCodec, PayloadWriter, PlainCodec } from "../contract/descriptor.js";
import { asError, RpcError } from "../errors.js";
import { unpackExactly, appendValue } from "../msgpack/pack.js";
import { decoding, encoding, type Read, type Write } from "./halves.js";
import { misfitError, schemaFailure } from "./misfit-error.js";
import { Mode, run, type Shape, type ShapePayload } from "./shape.js";

/**
 * Creates the codec of a message. The compiled functions `write` and `read` handle valid values. If they fail, the
 * slower `shape` parses the value again and finds the issues.
 */
export function codec<In, Out>(shape: () => Shape, write: Write<In>, read: Read<Out>): MessageCodec<In, Out> {
  return explained(shape, write, read);
}

/** A codec that gives access to the run-time schema of its messages. */
interface ShapedCodec<In, Out> extends MessageCodec<In, Out> {
  readonly shape: () => Shape;
}

/** Returns the run-time schema of a codec's messages; undefined if the codec was written by hand and has none. */
export function shapeOf(codec: MessageCodec<unknown>): Shape | undefined {
  return (codec as Partial<ShapedCodec<unknown, unknown>>).shape?.();
}

/** Creates the codec of a message that this side only sends. Its `decode` works too, but uses the slower `shape`. */
export function encoder<In>(shape: () => Shape, write: Write<In>): MessageCodec<In, never> {
  return explained<In, never>(shape, write, undefined);
}

/** Creates the codec of a message that this side only receives. Its `encode` works too, but uses the slower `shape`. */
export function decoder<Out>(shape: () => Shape, read: Read<Out>): MessageCodec<unknown, Out> {
  return explained(shape, undefined, read);
}

function explained<In, Out>(
  shape: () => Shape,
  write: Write<In> | undefined,
  read: Read<Out> | undefined,
): ShapedCodec<In, Out> {
  const encode: MessageCodec<In>["encode"] = (value, out) => encodeCarefully(shape(), value, out);
  const decode = (bytes: Uint8Array, start: number, end: number): Out =>
    decodeCarefully(shape(), bytes, start, end) as Out;
  return {
    encode: write === undefined ? encode : encoding(write, encode),
    decode: read === undefined ? decode : decoding(read, decode),
    plain: plain(shape),
    shape,
  };
}

function plain<In, Out>(shape: () => Shape): PlainCodec<In, Out> {
  return {
    encode: (value) => parseOrThrow(shape(), value, Mode.Sent),
    decode: (value) => parseOrThrow(shape(), value, Mode.Given) as Out,
  };
}

function encodeCarefully(shape: Shape, value: unknown, out: PayloadWriter): void {
  const sent = parseOrThrow(shape, value, Mode.Sent);
  try {
    appendValue(sent, out);
  } catch (error) {
    const reason = asError(error).message;
    throw new RpcError("invalid_argument", `the value cannot be sent: ${reason}`, { cause: error });
  }
}

function decodeCarefully(shape: Shape, bytes: Uint8Array, start: number, end: number): unknown {
  return parseOrThrow(shape, readPayload(bytes, start, end), Mode.Wire);
}

/** Parses `given` with `shape` and returns the result. Throws an `RpcError` `invalid_argument` if it does not match. */
export function parseOrThrow(shape: Shape, given: unknown, mode: Mode): unknown {
  const { value, issues } = parse(shape, given, mode);
  if (issues.length > 0) throw misfitError(issues);
  return value;
}

function parse(shape: Shape, value: unknown, mode: Mode): ShapePayload {
  try {
    return run(shape, value, mode);
  } catch (error) {
    throw schemaFailure(error);
  }
}

function readPayload(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return unpackExactly(bytes, start, end);
  } catch (error) {
    throw new RpcError("invalid_argument", "the payload is not one MessagePack value", { cause: error });
  }
}
