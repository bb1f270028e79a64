import { ProtocolError } from "../../errors.js";
import { ResetCode } from "../../transport/reset-codes.js";
import type { WebTransportStream } from "../../transport/session.js";
import type { ByteWriter } from "../../wire/byte-writer.js";
import { Cursor } from "../../wire/cursor.js";
import { FLAG_HEAD, type Frame, FrameType, PROTOCOL_VERSION, StreamKind } from "../../wire/frame.js";
import { frameOf } from "../../wire/one-frame.js";
import { encodeText } from "../../wire/text.js";
import { readVarint, varintLengthFromFirstByte } from "../../wire/varint.js";
import type { StreamHost } from "./host.js";
import { openPipe } from "./pipe.js";

/** The body of a refusal: a head of `refused`, code 12 (unimplemented), the message's length, the message. */
const REFUSED = Uint8Array.of(2, 9, 0, 12, 22, ...encodeText("nothing is served here"));
/** The setting of a hello that may not be passed over: the codec of calls, which are refused in any. */
const CODEC = 2;

/** Takes a stream that the peer opened: a lane, on which calls are refused. Other streams are not known here. */
export function takePeerStream(host: StreamHost, stream: WebTransportStream): void {
  const { limits, peers, prefix } = host;
  let first = new Uint8Array(0);
  let greeted = false;

  const send = (type: number, write: (out: ByteWriter) => void, id = 0): void =>
    pipe.write(frameOf(type, id, write, limits));
  /** prefix | kind (varint) */
  const sort = (bytes: Uint8Array): Uint8Array | undefined => {
    first = Uint8Array.of(...first, ...bytes);
    const at = prefix.length;
    const start = at + varintLengthFromFirstByte(first[at] ?? 0);
    const ours = prefix.every((byte, i) => i >= first.length || byte === first[i]);
    if (ours && first.length < start) return undefined;
    if (!ours || readVarint(first, at) !== StreamKind.Lane) {
      pipe.cancel(ResetCode.UnknownKind);
      return undefined;
    }
    send(FrameType.Hello, (out) => out.varint(PROTOCOL_VERSION));
    return first.subarray(start);
  };
  const onFrame = ({ type, callId, bytes, start, end, oversized }: Frame): void => {
    const cursor = new Cursor(bytes, start, end);
    // The peer has opened the lane: its calls have even ids.
    const isCalls = type <= FrameType.Credit && callId % 2 === 0;
    if (!greeted) {
      if (type !== FrameType.Hello || cursor.varint() !== PROTOCOL_VERSION) {
        throw new ProtocolError("a lane begins with a hello of version 1");
      }
      while (cursor.position < end) {
        const key = cursor.varint();
        cursor.nested();
        if (key % 2 === 0 && key !== CODEC) throw new ProtocolError(`setting ${key} is unknown`);
      }
      greeted = true;
    } else if (type === FrameType.Goaway) {
      host.onGoaway(cursor.varint(), (stage) => send(FrameType.Goaway, (out) => out.varint(stage)));
    } else if (type === FrameType.Ping && end - start <= 8) {
      send(FrameType.Pong, (out) => out.bytes(cursor.rest()));
    } else if (type === FrameType.Request && isCalls) {
      send(FrameType.Error | FLAG_HEAD, (out) => out.bytes(REFUSED), callId);
      // What was sent before the refusal arrived is dropped, and so are notifications.
    } else if (!isCalls || type === FrameType.Hello || type === FrameType.Response || type === FrameType.Error || oversized) {
      throw new ProtocolError(`a frame of type ${type} with call id ${callId}`);
    }
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
