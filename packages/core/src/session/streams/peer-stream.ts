import type { WebTransportStream } from "../../transport/session.js";
import { ByteWriter } from "../../wire/byte-writer.js";
import { Cursor } from "../../wire/cursor.js";
import { FLAG_HEAD, type Frame, PROTOCOL_VERSION } from "../../wire/frame.js";
import { frameOf } from "../../wire/one-frame.js";
import { encodeText } from "../../wire/text.js";
import { readVarint, varintLengthFromFirstByte } from "../../wire/varint.js";
import { unexpected } from "./frames.js";
import type { StreamHost } from "./host.js";
import { openPipe } from "./pipe.js";
import * as FrameType from "../../wire/frame-type.js";
import * as StreamKind from "../../wire/stream-kind.js";
import * as ResetCode from "../../transport/reset-code.js";

/** The body of a refusal: a head of `refused`, code 12 (unimplemented), the message's length, the message. */
const REFUSED = Uint8Array.of(2, 9, 0, 12, 22, ...encodeText("nothing is served here"));
/** The types of frames that a caller sends, one bit each: request, notify, item to credit. */
const CALLER_TYPES = 0x1e6;
/** The setting of a hello that names the codec of calls. */
const CODEC = 2;

/** Takes a stream that the peer opened: a lane, on which calls are refused. Other streams are not known here. */
export function takePeerStream(host: StreamHost, stream: WebTransportStream): void {
  const { limits, peers, prefix } = host;
  const first = new ByteWriter();
  let greeted = false;

  const send = (type: number, write: (out: ByteWriter) => void, id = 0): void =>
    pipe.write(frameOf(type, id, write, limits));
  /** prefix | kind (varint) */
  const sort = (bytes: Uint8Array): Uint8Array | undefined => {
    first.bytes(bytes);
    const known = first.written();
    const at = prefix.length;
    const start = at + varintLengthFromFirstByte(known[at] ?? 0);
    const ours = prefix.every((byte, i) => i >= known.length || byte === known[i]);
    if (ours && known.length < start) return undefined;
    if (!ours || readVarint(known, at) !== StreamKind.Lane) {
      pipe.cancel(ResetCode.UnknownKind);
      return undefined;
    }
    send(FrameType.Hello, (out) => out.varint(PROTOCOL_VERSION));
    return known.subarray(start);
  };
  const onFrame = (frame: Frame): void => {
    const { type, callId, bytes, start, end } = frame;
    const cursor = new Cursor(bytes, start, end);
    // The peer has opened the lane: its calls have even ids.
    const isCalls = callId % 2 === 0 && ((CALLER_TYPES >> type) & 1) === 1;
    if (!greeted) {
      // version | settings: key | length | value
      greeted = type === FrameType.Hello && cursor.varint() === PROTOCOL_VERSION;
      while (cursor.position < end) {
        const key = cursor.varint();
        cursor.nested();
        // One that may not be passed over; the codec of calls may, since they are refused in any.
        if (key % 2 === 0 && key !== CODEC) greeted = false;
      }
      if (!greeted) throw unexpected(frame);
    } else if (type === FrameType.Goaway) {
      host.onGoaway(cursor.varint(), (stage) => send(FrameType.Goaway, (out) => out.varint(stage)));
    } else if (type === FrameType.Ping && end - start <= 8) {
      send(FrameType.Pong, (out) => out.bytes(cursor.rest()));
    } else if (type === FrameType.Request && isCalls) {
      send(FrameType.Error | FLAG_HEAD, (out) => out.bytes(REFUSED), callId);
    } else if (!isCalls) {
      throw unexpected(frame);
    }
    // What else is of the peer's calls is dropped: it was sent before the refusal arrived, or is a notification.
  };

  const pipe = openPipe(
    Promise.resolve(stream),
    host,
    {
      get paused() {
        return !pipe.room;
      },
      onFrame,
      // A lane ends in both directions.
      onStopped: () => pipe.cancel(),
    },
    () => peers.delete(pipe),
    sort,
  );
  if (peers.size >= limits.maxStreams) pipe.cancel(ResetCode.TooManyStreams);
  else peers.add(pipe);
}
