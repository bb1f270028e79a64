import type { Channel } from "../../transport/channel.js";
import type { SessionCompression } from "../../transport/compression.js";
import { expanded } from "../../transport/expand.js";
import { Cursor } from "../../wire/cursor.js";
import { FLAG_COMPRESSED, type Frame } from "../../wire/frame.js";
import { type PieceFields, writePiece } from "../../wire/piece.js";
import { readOptionalHead } from "../../wire/head.js";
import type { CallChannel } from "../carrier.js";
import * as FrameType from "../../wire/frame-type.js";

export type { Pipe } from "./durable-stream.js";

/** Sends a piece as an item. Returns its number of bytes. */
export function sendPiece(channel: Channel, id: number, fields: PieceFields, bytes: Uint8Array): number {
  return channel.frame(FrameType.Item, id, (out, mark) => {
    const start = out.position;
    writePiece(out, fields, bytes);
    channel.compression?.shrink(out, mark, start, undefined);
  });
}

/** Flushes sent pieces. In a lane they wait for the end of the turn, like frames of other calls. */
export function flushPieces({ single, channel }: CallChannel): void {
  if (single) channel.flushNow();
}

/** Returns a cursor over the piece in an item's frame. Valid as long as the frame. */
export function pieceCursor(
  frame: Frame,
  maxMetadataBytes: number,
  compression: SessionCompression | undefined,
): Cursor {
  const { bytes, start, end } = frame;
  const cursor = new Cursor(bytes, start, end);
  readOptionalHead(frame, cursor, maxMetadataBytes);
  return (frame.flags & FLAG_COMPRESSED) === 0 ? cursor : expanded(compression, cursor);
}
