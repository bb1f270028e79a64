import * as FrameType from "../wire/frame-type.js";
import * as GoawayStage from "../wire/goaway-stage.js";
import { checkOptions } from "../check-options.js";
import { MemoryBudget } from "../memory-budget.js";
import { type Frame, FLAG_COMPRESSED, FLAG_HEAD } from "../wire/frame.js";
import { FrameReader, type FrameReceiver } from "../wire/reader.js";
import { joined } from "./joined.js";
import type { DirectSession, DirectSessionHandler, DirectStream, DirectStreamHandler } from "./session.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { codeFromNumber } from "../codes.js";
import { Cursor, cursorOf, readVarint, varintLengthFromFirstByte } from "../wire/cursor.js";
import { readDeparture } from "../wire/departure.js";
import { type Head, readHead } from "../wire/head.js";
import { decodeMetadata } from "../wire/metadata.js";
import { readClose } from "../wire/close-frame.js";

/** A frame that `tapFrames` reports. */
export interface TappedFrame {
  readonly direction: "sent" | "received";
  /** Number of the stream within the session, counted in the order of first use. */
  readonly stream: number;
  /** The frame. It and its bytes are valid only during the call. */
  readonly frame: Frame;
}

export interface TapOptions {
  /** Value of the session's option `prefix`: bytes at the beginning of each stream. Default: none. */
  readonly prefix?: Uint8Array;
}

/** Kinds of streams that consist of frames: 1 carries a single call, 2 is a lane. */
const KINDS: ReadonlySet<number> = new Set([1, 2]);
/** Maximum bytes of a frame that is reported completely. Of a larger frame, only the beginning is reported. */
const MAX_FRAME = 4 * 1024 * 1024;

/**
 * Returns a transport that reports the frames of a session as they are sent and received:
 * `createSession(tapFrames(transport, onFrame))`. Copies no data and does not change the session. If `onFrame` throws,
 * the frames of that stream are no longer reported.
 */
export function tapFrames(
  session: DirectSession,
  onFrame: (tapped: TappedFrame) => void,
  options: TapOptions = {},
): DirectSession {
  checkOptions("tapFrames()", options, { prefix: true });
  const { prefix = new Uint8Array(0) } = options;
  let streams = 0;
  const tap = <S extends DirectStream>(stream: S, isOpener: boolean): S => {
    const number = streams++;
    const reader = (direction: TappedFrame["direction"], begins: boolean): FrameSplitter =>
      new FrameSplitter(begins ? prefix.length : undefined, (frame) => onFrame({ direction, stream: number, frame }));
    return tappedStream(stream, reader("sent", isOpener), reader("received", !isOpener));
  };
  const { sole } = session;
  const tappedSole = sole && tap(sole, sole.opener);
  return changed(session, {
    attach: (handler: DirectSessionHandler) =>
      session.attach(changed(handler, { onStream: (stream: DirectStream) => handler.onStream(tap(stream, false)) })),
    openStream: () => tap(session.openStream(), true),
    ...(tappedSole !== undefined && { sole: tappedSole }),
  });
}

function tappedStream<S extends DirectStream>(stream: S, sent: FrameSplitter, received: FrameSplitter): S {
  return changed<DirectStream>(stream, {
    attach: (handler: DirectStreamHandler) =>
      stream.attach(
        changed(handler, {
          onData: (chunk: Uint8Array) => {
            received.push(chunk);
            handler.onData(chunk);
          },
        }),
      ),
    write: (bytes: Uint8Array, end?: boolean) => {
      sent.push(bytes);
      return stream.write(bytes, end);
    },
  }) as S;
}

/**
 * Returns an object that behaves like `target`, including its private fields, except that it has the given `members`.
 */
function changed<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = (members as Record<PropertyKey, unknown>)[name];
      if (member !== undefined) return member;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(target, name, value, target),
  });
}

/** Splits the data of one direction of a stream into frames, and stops at data that is not a frame. */
class FrameSplitter {
  private readonly reader: FrameReader = new FrameReader(
    MAX_FRAME,
    new MemoryBudget(2 * MAX_FRAME, "the tap of frames"),
  );
  private readonly to: FrameReceiver;
  /**
   * Number of bytes before the stream's kind; undefined once the kind has been read, and in the direction that has no
   * kind.
   */
  private before: number | undefined;
  private first: Uint8Array = new Uint8Array(0);
  private isOver = false;

  constructor(before: number | undefined, onFrame: (frame: Frame) => void) {
    this.before = before;
    this.to = { onFrame };
  }

  push(chunk: Uint8Array): void {
    if (this.isOver) return;
    try {
      if (this.before === undefined) this.reader.push(chunk, 0, this.to);
      else this.begin(chunk, this.before);
    } catch {
      this.isOver = true;
      this.reader.stop();
    }
  }

  private begin(chunk: Uint8Array, before: number): void {
    const bytes = this.first.length === 0 ? chunk : joined(this.first, chunk);
    const kindLength = before < bytes.length ? varintLengthFromFirstByte(bytes[before] as number) : 1;
    if (bytes.length < before + kindLength) {
      this.first = bytes.slice();
      return;
    }
    this.before = undefined;
    this.isOver = !KINDS.has(readVarint(bytes, before));
    if (!this.isOver) this.reader.push(bytes, before + kindLength, this.to);
  }
}

/** A readable description of a frame. */
export interface FrameDescription {
  /** Name of the frame's type, such as "Request" or "Item"; "type 17" for an unknown one. */
  readonly type: string;
  readonly callId: number;
  /** Size of the whole frame in bytes. */
  readonly size: number;
  /** Values of the frame's fields by their names in docs/protocol.md. The value of a payload is its size in bytes. */
  readonly fields: Readonly<Record<string, unknown>>;
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(FrameType as Readonly<Record<string, number>>).map(([name, type]) => [type, name]),
);

/**
 * Returns a description of a frame and its fields. Never throws: for an invalid frame, `fields.broken` states the
 * problem.
 */
export function describeFrame(frame: Frame): FrameDescription {
  const { type, callId, size, flags } = frame;
  const compressed = (flags & FLAG_COMPRESSED) === 0 ? {} : { compressed: true };
  let fields: Record<string, unknown>;
  try {
    fields = frame.oversized ? { oversized: true } : { ...fieldsOf(frame), ...compressed };
  } catch (error) {
    fields = { broken: (error as Error).message };
  }
  return { type: NAMES.get(type) ?? `type ${type}`, callId, size, fields };
}

function fieldsOf(frame: Frame): Record<string, unknown> {
  const { bytes, start, end } = frame;
  const cursor = new Cursor(bytes, start, end);
  switch (frame.type) {
    case FrameType.Hello:
      return { version: cursor.varint(), settings: left(cursor) };
    case FrameType.Request:
    case FrameType.Notify: {
      const service = (cursor.byte() << 8) | cursor.byte();
      return { service, method: cursor.varint(), ...headOf(frame, cursor), payload: left(cursor) };
    }
    case FrameType.Response:
    case FrameType.Item:
    case FrameType.End:
    case FrameType.HalfEnd:
    case FrameType.Headers:
      return { ...headOf(frame, cursor), payload: left(cursor) };
    case FrameType.Error: {
      const head = headOf(frame, cursor);
      if ((frame.flags & FLAG_COMPRESSED) !== 0) return { ...head, payload: left(cursor) };
      return { ...head, code: codeFromNumber(cursor.byte()), message: cursor.nested().text(), details: left(cursor) };
    }
    case FrameType.Cancel:
      return { code: codeFromNumber(cursor.byte()) };
    case FrameType.Credit:
      return { bytes: cursor.varint() };
    case FrameType.Goaway:
      return goawayOf(frame);
    case FrameType.Close: {
      const { closeCode, reason } = readClose(frame);
      return { code: closeCode, reason };
    }
    default:
      return { bytes: left(cursor) };
  }
}

function goawayOf(frame: Frame): Record<string, unknown> {
  const stage = cursorOf(frame).varint();
  return stage === GoawayStage.Departing ? { stage, ...saidOf(readDeparture(frame)) } : { stage };
}

function headOf(frame: Frame, cursor: Cursor): Record<string, unknown> {
  return (frame.flags & FLAG_HEAD) === 0 ? {} : fieldsOfHead(readHead(cursor, DEFAULT_LIMITS.maxMetadataBytes));
}

/** Returns the fields that are present, without those that are undefined. */
function saidOf(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== false));
}

function fieldsOfHead({ metadata, trailers, ...plain }: Head): Record<string, unknown> {
  return {
    ...saidOf(plain),
    ...(metadata !== undefined && { metadata: [...decodeMetadata(metadata).entries()] }),
    ...(trailers !== undefined && { trailers: [...decodeMetadata(trailers).entries()] }),
  };
}

function left({ position, end }: Cursor): number {
  return end - position;
}
