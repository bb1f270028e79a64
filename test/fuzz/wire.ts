import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { RpcError } from "@quicrpc/core";
// What other packages import: classes of their own next to those of the sources.
import { FrameWriter as BuiltWriter, ProtocolError as BuiltProtocolError } from "@quicrpc/core/internal";
import { nodeCompressions } from "../../packages/node/src/compression.js";
import { ProtocolError } from "../../packages/core/src/errors.js";
import { MemoryBudget } from "../../packages/core/src/memory-budget.js";
import { SessionCompression } from "../../packages/core/src/transport/compression.js";
import { Cursor, cursorOf } from "../../packages/core/src/wire/cursor.js";
import { readFault } from "../../packages/core/src/wire/fault.js";
import { MAX_ADDRESS_BYTES, readDeparture } from "../../packages/core/src/wire/departure.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "../../packages/core/src/wire/frame.js";
import * as GoawayStage from "../../packages/core/src/wire/goaway-stage.js";
import * as FrameType from "../../packages/core/src/wire/frame-type.js";
import { readHello } from "../../packages/core/src/wire/hello.js";
import { checkMetadata, decodeMetadata, encodeMetadata } from "../../packages/core/src/wire/metadata.js";
import { MISFIT_NOTICE } from "../../packages/core/src/wire/misfit-notice.js";
import { decodeResume, encodeResume, readPiece, TOKEN_BYTES, writePiece } from "../../packages/durable/src/pieces.js";
import { readProof, writeStatement } from "../../packages/core/src/wire/proof.js";
import { FrameReader } from "../../packages/core/src/wire/reader.js";
import { readMisfitNotice, readRequest } from "../../packages/core/src/server/dispatch.js";
import { readHead } from "../../packages/core/src/wire/head.js";
import { readPing } from "../../packages/core/src/call/lanes/peer-lane.js";
import { readClose } from "../../packages/core/src/wire/close-frame.js";
import type { Target } from "./fuzz.js";
import type { Random } from "./mutate.js";

const MAX_FRAME = 4096;
/** Bytes held of a frame whose end has not arrived, in a buffer that grows by doubling. */
const MAX_HELD = 4 * MAX_FRAME;
const MAX_METADATA = 1024;
const MAX_EXPANDED = 16_384;

export function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
}

/** The frames of the protocol's vectors. */
export const vectors: readonly Uint8Array[] = (
  JSON.parse(readFileSync(new URL("../vectors/frames.json", import.meta.url), "utf8")) as { frames: { hex: string }[] }
).frames.map(({ hex }) => bytesOf(hex));

/**
 * Returns the result of `read`, or undefined if it refuses as the protocol specifies; any other exception is a fault.
 */
function refusable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtocolError || error instanceof BuiltProtocolError || error instanceof RpcError)
      return undefined;
    throw error;
  }
}

interface Split {
  readonly frames: readonly string[];
  readonly failed: boolean;
}

/** The frames of `input`, which arrives in pieces of the size that `next` says. */
function split(input: Uint8Array, next: () => number, read: (frame: Frame) => void): Split {
  const frames: string[] = [];
  const budget = new MemoryBudget(MAX_HELD, "limits.maxSessionBytes");
  const reader = new FrameReader(MAX_FRAME, budget);
  const onFrame = (frame: Frame): void => {
    const { type, flags, callId, oversized, size, bytes, start, end } = frame;
    frames.push(
      `${type} ${flags} ${callId} ${oversized} ${size} ${Buffer.from(bytes.subarray(start, end)).toString("hex")}`,
    );
    read(frame);
  };
  const ended = refusable(() => {
    for (let at = 0; at < input.length; ) {
      const to = Math.min(input.length, at + next());
      reader.push(input.slice(at, to), 0, { onFrame });
      at = to;
    }
    return true;
  });
  if (budget.held > MAX_HELD) throw new Error(`${budget.held} bytes are held of unfinished frames`);
  return { frames, failed: ended === undefined };
}

/** Runs every reader of a frame's content. */
function readBody(frame: Frame): void {
  const { type, flags } = frame;
  const cursor = (): Cursor => new Cursor(frame.bytes, frame.start, frame.end);
  if (type === FrameType.Hello) refusable(() => readHello(frame));
  else if (type === FrameType.Request || type === FrameType.Notify) {
    const request = refusable(() => readRequest(frame));
    if (request === undefined) return;
    if (request.methodId !== MISFIT_NOTICE) readHeadOf(frame, request.cursor);
    else if ((refusable(() => readMisfitNotice(request.cursor))?.reason.length ?? 0) > 512)
      throw new Error("a reason is not cut");
  } else if (type === FrameType.Error) refusable(() => readFault(frame, MAX_METADATA, expand));
  else if (type === FrameType.Goaway) readGoing(frame);
  else if (type === FrameType.Ping) refusable(() => readPing(frame));
  else if (type === FrameType.Close) refusable(() => readClose(frame));
  else if (flags & FLAG_COMPRESSED) refusable(() => expand(frame.bytes, frame.start, frame.end));
  else readHeadOf(frame, cursor());
}

function readHeadOf({ flags }: Frame, cursor: Cursor): void {
  if (flags & FLAG_HEAD) refusable(() => readHead(cursor, MAX_METADATA));
}

function readGoing(frame: Frame): void {
  if (refusable(() => cursorOf(frame).varint()) !== GoawayStage.Departing) return;
  const { to = "" } = refusable(() => readDeparture(frame)) ?? {};
  if (Buffer.byteLength(to) > 3 * MAX_ADDRESS_BYTES) throw new Error("an address is not bounded");
}

function expand(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const expanded = compression.expand(bytes, start, end);
  if (expanded.length > MAX_EXPANDED) throw new Error(`${expanded.length} bytes came out of a compressed message`);
  return expanded;
}

const algorithms = nodeCompressions();
const compression = new SessionCompression({ algorithms }, MAX_EXPANDED);

const frames: Target = {
  name: "frames",
  corpus: [...vectors, ...vectors.map((each, i) => Buffer.concat([each, vectors.at(i - 1) as Uint8Array]))],
  run(input: Uint8Array, random: Random): number {
    const whole = split(input, () => input.length, readBody);
    const pieces = split(
      input,
      () => 1 + random.below(9),
      () => {},
    );
    // Data of a piece after an invalid frame does not belong to any frame.
    const same = Math.min(whole.frames.length, pieces.frames.length);
    if (whole.failed !== pieces.failed || whole.frames.length !== pieces.frames.length)
      throw new Error(`${same} frames, then others`);
    for (let i = 0; i < same; i++) {
      if (whole.frames[i] !== pieces.frames[i]) throw new Error(`frame ${i} is another when it comes in pieces`);
    }
    return whole.frames.length;
  },
};

const metadata: Target = {
  name: "metadata",
  corpus: ["0161026f6b03622d620001610005782d62696e0200ff", "016100", "", "0a71756963727063 2d7801 00"].map(bytesOf),
  run(input: Uint8Array): number {
    const raw = refusable(() => checkMetadata(new Cursor(input, 0, input.length), MAX_EXPANDED));
    if (raw === undefined) return 0;
    const read = decodeMetadata(raw);
    const again = encodeMetadata(read, Number.POSITIVE_INFINITY) ?? new Uint8Array();
    const reread = decodeMetadata(again);
    if (String([...read].flat()) !== String([...reread].flat())) throw new Error("is another when it is sent on");
    return read.size;
  },
};

const compressed: Target = {
  name: "compression",
  corpus: algorithms.flatMap((algorithm) => {
    const number = { deflate: 1, gzip: 2, zstd: 3 }[algorithm.name];
    return [new Uint8Array(100), Buffer.from("some text, some text"), new Uint8Array(MAX_EXPANDED * 4)].map((plain) =>
      Uint8Array.from([number, ...algorithm.compress(plain)]),
    );
  }),
  run(input: Uint8Array): number {
    refusable(() => expand(input, 0, input.length));
    return 0;
  },
};

const pieces: Target = {
  name: "pieces of resumable calls",
  corpus: ["0001 40050100dd3e05", "0900", "4046 04 01", "80010000 07 08 4009 010203", "ffffffffffffffff 07 00 00"].map(
    bytesOf,
  ),
  run(input: Uint8Array): number {
    const cursor = new Cursor(input, 0, input.length);
    const fields = refusable(() => readPiece(cursor));
    if (fields === undefined) return 0;
    const out = new BuiltWriter(64);
    writePiece(out, fields, input.subarray(cursor.position));
    const written = out.written();
    const again = new Cursor(written, 0, written.length);
    if (!isDeepStrictEqual(readPiece(again), fields)) throw new Error("is another when it is sent on");
    if (Buffer.compare(written.subarray(again.position), input.subarray(cursor.position)) !== 0)
      throw new Error("its bytes are others when it is sent on");
    return 1;
  },
};

const resumptions: Target = {
  name: "requests to resume a call",
  corpus: [
    "000102030405060708090a0b0c0d0e0f 00 800493e0 00 00",
    "000102030405060708090a0b0c0d0e0f 01 800493e0 4046 08",
    "000102030405060708090a0b0c0d0e0f ffffffffffffffff 00 00 00",
  ].map(bytesOf),
  run(input: Uint8Array): number {
    const fields = refusable(() => decodeResume(input));
    if (fields === undefined) return 0;
    if (fields.token.length !== TOKEN_BYTES) throw new Error(`a token of ${fields.token.length} bytes`);
    if (!isDeepStrictEqual(decodeResume(encodeResume(fields)), fields))
      throw new Error("is another when it is sent on");
    return 1;
  },
};

/** The proof of the protocol's vectors, by Ed25519, and one by ES256 with a channel. */
const proofs: Target = {
  name: "proofs",
  corpus: [
    ...vectors.filter((frame) => frame[2] === 0x0f).map((frame) => frame.subarray(5)),
    Uint8Array.of(1, ...new Uint8Array(64), 32, ...new Uint8Array(32), 1, 0x61, ...new Uint8Array(64)),
  ],
  run(input: Uint8Array): number {
    const read = refusable(() => readProof(input));
    if (read === undefined) return 0;
    const { said, signature, ...statement } = read;
    if (said.length + signature.length !== input.length) throw new Error("not all of it is read");
    const again = readProof(Uint8Array.of(...writeStatement(statement), ...signature));
    // Lengths may be written longer than they need be.
    if (!isDeepStrictEqual({ ...again, said }, read)) throw new Error("is another when it is written anew");
    return 1;
  },
};

export const wireTargets: readonly Target[] = [frames, metadata, compressed, pieces, resumptions, proofs];
