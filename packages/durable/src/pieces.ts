import {
  type CallChannel,
  type Channel,
  Cursor,
  expanded,
  FLAG_COMPRESSED,
  FLAG_HEAD,
  type Frame,
  FrameType,
  FrameWriter,
  ProtocolError,
  readHead,
  type SessionCompression,
} from "@quicrpc/core/internal";

/**
 * An item of an attempt of a resumable call. It contains a piece of the call's byte stream and the state of the stream
 * (docs/protocol.md §11):
 *
 *     acknowledged (varint) | flags (1 byte) | [code of the reset (varint)] | [code of the stop (varint)] | bytes
 */
export interface PieceFields {
  /** Number of bytes of the other direction that the sender has processed. The end of the stream counts as one byte. */
  acknowledged: number;
  end: boolean;
  /** Code with which the sender has reset its direction. Undefined: not reset. */
  reset: number | undefined;
  /** Code with which the sender asks the other side to stop sending. Undefined: not asked. */
  stop: number | undefined;
}

const END = 0x1;
const RESET = 0x2;
const STOP = 0x4;
const KNOWN = END | RESET | STOP;

export function writePiece(out: FrameWriter, { acknowledged, end, reset, stop }: PieceFields, bytes: Uint8Array): void {
  out.varint(acknowledged);
  out.byte((end ? END : 0) | (reset === undefined ? 0 : RESET) | (stop === undefined ? 0 : STOP));
  if (reset !== undefined) out.varint(reset);
  if (stop !== undefined) out.varint(stop);
  out.bytes(bytes);
}

/** Reads the fields of a piece before its bytes. The cursor is then at the start of the bytes. */
export function readPiece(cursor: Cursor): PieceFields {
  const acknowledged = cursor.varint();
  const flags = cursor.byte();
  if (flags > KNOWN) throw new ProtocolError(`a piece of a stream has the flags ${flags}`);
  return {
    acknowledged,
    end: (flags & END) !== 0,
    reset: (flags & RESET) === 0 ? undefined : cursor.varint(),
    stop: (flags & STOP) === 0 ? undefined : cursor.varint(),
  };
}

export const TOKEN_BYTES = 16;

/**
 * Field of a request that makes it an attempt of a resumable call (docs/protocol.md §11):
 *
 *     token (16 bytes) | epoch (varint) | milliseconds to be kept (varint) | received (varint) | retained (varint)
 */
export interface ResumeFields {
  /** Identifies the call among all calls of its principal. */
  readonly token: Uint8Array;
  /** 0 for the attempt that starts the call. Each attempt that resumes the call has a larger number. */
  readonly epoch: number;
  /** Milliseconds for which the callee should keep the call while no session carries it. */
  readonly keepMs: number;
  /**
   * Number of bytes that the caller has processed; the end of the stream counts as one byte. The callee continues to
   * send from that position.
   */
  readonly received: number;
  /** Position of the first byte that the caller can still send. */
  readonly retained: number;
}

export function encodeResume({ token, epoch, keepMs, received, retained }: ResumeFields): Uint8Array {
  const out = new FrameWriter(64);
  out.bytes(token);
  out.varint(epoch);
  out.varint(keepMs);
  out.varint(received);
  out.varint(retained);
  return out.written();
}

export function decodeResume(raw: Uint8Array): ResumeFields {
  const cursor = new Cursor(raw, 0, raw.length);
  const at = cursor.take(TOKEN_BYTES);
  const token = raw.slice(at, at + TOKEN_BYTES);
  return {
    token,
    epoch: cursor.varint(),
    keepMs: cursor.varint(),
    received: cursor.varint(),
    retained: cursor.varint(),
  };
}

/** Sends a piece as an item of an attempt. Returns the size of the piece in bytes. */
export function sendPiece(channel: Channel, id: number, fields: PieceFields, bytes: Uint8Array): number {
  return channel.frame(FrameType.Item, id, (out, mark) => {
    const start = out.position;
    writePiece(out, fields, bytes);
    channel.compression?.shrink(out, mark, start, undefined);
  });
}

/**
 * Flushes pieces that were sent. In a shared lane, they wait for the end of the turn of the event loop, like frames of
 * other calls.
 */
export function flushPieces({ single, channel }: CallChannel): void {
  if (single) channel.flushNow();
}

/** Returns a cursor over the piece in the frame of an item. It is only valid as long as the frame. */
export function pieceCursor(
  frame: Frame,
  maxMetadataBytes: number,
  compression: SessionCompression | undefined,
): Cursor {
  const { flags, bytes, start, end } = frame;
  const cursor = new Cursor(bytes, start, end);
  if ((flags & FLAG_HEAD) !== 0) readHead(cursor, maxMetadataBytes);
  return (flags & FLAG_COMPRESSED) === 0 ? cursor : expanded(compression, cursor);
}
