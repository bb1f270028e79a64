import { DEFAULT_LIMITS } from "../limits.js";
import { codeFromNumber } from "../codes.js";
import { Cursor } from "../wire/cursor.js";
import { readDeparture } from "../wire/departure.js";
import { FLAG_COMPRESSED, type Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import * as GoawayStage from "../wire/goaway-stage.js";
import { type Head, readOptionalHead } from "../wire/head.js";
import { decodeMetadata } from "../wire/metadata.js";
import { readRequest } from "../wire/request.js";
import { readGoaway } from "../wire/session-frames.js";
import { readClose } from "../wire/close-frame.js";

/** A frame in words. */
export interface FrameDescription {
  /** "Request", "Item" and so on; "type 17" for an unknown one. */
  readonly type: string;
  readonly callId: number;
  /** Bytes of the whole frame. */
  readonly size: number;
  /** Its fields by their names in docs/protocol.md; of a payload, the number of its bytes. */
  readonly fields: Readonly<Record<string, unknown>>;
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(FrameType as Readonly<Record<string, number>>).map(([name, type]) => [type, name]),
);

/** Describes the fields of a frame. Never throws: for an invalid frame, `fields.broken` states the problem. */
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
      const { serviceId, methodId, cursor: rest } = readRequest(frame);
      return { service: serviceId, method: methodId, ...headOf(frame, rest), payload: left(rest) };
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
  const stage = readGoaway(frame);
  return stage === GoawayStage.Departing ? { stage, ...saidOf(readDeparture(frame)) } : { stage };
}

function headOf(frame: Frame, cursor: Cursor): Record<string, unknown> {
  const head = readOptionalHead(frame, cursor, DEFAULT_LIMITS.maxMetadataBytes);
  return head === undefined ? {} : fieldsOfHead(head);
}

/** The fields that were sent. */
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
