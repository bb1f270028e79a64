import { ProtocolError } from "../../errors.js";
import { ResetCode } from "../../transport/reset-codes.js";
import type { WebTransportStream } from "../../transport/session.js";
import type { ByteWriter } from "../../wire/byte-writer.js";
import { Cursor } from "../../wire/cursor.js";
import { FLAG_HEAD, type Frame, FrameType, PROTOCOL_VERSION, StreamKind } from "../../wire/frame.js";
import { encodeText } from "../../wire/text.js";
import { readVarint, varintLengthFromFirstByte } from "../../wire/varint.js";
import { frameOf } from "./frames.js";
import { CANCELLED, openPipe, type Pipe, type PipeSettings } from "./pipe.js";

const NOTHING = new Uint8Array(0);
/** What calls are refused with: head length, refused; code, message length, message. */
const REFUSAL = "nothing is served here";

/** What a session is told of what its peer says on lanes. */
export interface LaneHost extends PipeSettings {
  /** Streams of the peer's that are not over. */
  readonly lanes: Set<Pipe>;
  /** The peer goes away. `say` sends a goaway on the lane it said so. */
  onGoaway(stage: number, say: (stage: number) => void): void;
}

/** Takes a stream that the peer opened: a lane, on which calls are refused; others are not known here. */
export function takePeerStream(host: LaneHost, stream: WebTransportStream): void {
  const { limits, lanes, prefix } = host;
  let first = NOTHING;
  let greeted = false;

  const send = (type: number, write: (out: ByteWriter) => void, id = 0): void =>
    pipe.write(frameOf(type, id, write, limits, NOTHING));
  const sort = (bytes: Uint8Array): Uint8Array | undefined => {
    const joined = new Uint8Array(first.length + bytes.length);
    joined.set(first);
    joined.set(bytes, first.length);
    first = joined;
    // prefix | kind (varint)
    const start = prefix.length + varintLengthFromFirstByte(first[prefix.length] ?? 0);
    const known = prefix.every((byte, at) => at >= joined.length || byte === joined[at]);
    if (known && first.length < start) return undefined;
    if (known && readVarint(first, prefix.length) === StreamKind.Lane) {
      send(FrameType.Hello, (out) => out.varint(PROTOCOL_VERSION));
      return first.subarray(start);
    }
    pipe.cancel(ResetCode.UnknownKind);
    return undefined;
  };
  const onFrame = ({ type, callId, bytes, start, end, oversized }: Frame): void => {
    const cursor = new Cursor(bytes, start, end);
    if (!greeted) {
      if (type !== FrameType.Hello || cursor.varint() !== PROTOCOL_VERSION)
        throw new ProtocolError("a lane begins with a hello of version 1");
      while (cursor.position < end) {
        const key = cursor.varint();
        cursor.take(cursor.varint());
        if (key % 2 === 0 && key !== 2) throw new ProtocolError(`setting ${key} is unknown`);
      }
      greeted = true;
      return;
    }
    switch (type) {
      case FrameType.Goaway:
        host.onGoaway(cursor.varint(), (stage) => send(FrameType.Goaway, (out) => out.varint(stage)));
        return;
      case FrameType.Ping: {
        const token = bytes.slice(start, end);
        if (token.length > 8) throw new ProtocolError("a ping of more than 8 bytes");
        send(FrameType.Pong, (out) => out.bytes(token));
        return;
      }
      case FrameType.Pong:
        return;
      case FrameType.Request:
        if ((callId & 1) === 0) {
          const refusal = (out: ByteWriter): void => out.bytes(Uint8Array.of(2, 9, 0, 12, 22, ...encodeText(REFUSAL)));
          send(FrameType.Error | FLAG_HEAD, refusal, callId);
          return;
        }
        break;
      // What was sent before the refusal arrived is dropped, and so are notifications.
      case FrameType.Notify:
      case FrameType.Item:
      case FrameType.End:
      case FrameType.Cancel:
      case FrameType.Credit:
        if ((callId & 1) === 0 && (!oversized || type <= FrameType.Item)) return;
        break;
      default:
    }
    throw new ProtocolError(`a frame of type ${type} with call id ${callId}`);
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
      onOver: () => pipe.abandon(CANCELLED),
      onStopped: () => pipe.cancel(CANCELLED),
      onRoom() {},
      onDone: () => lanes.delete(pipe),
    },
    sort,
  );
  if (lanes.size >= limits.maxStreams) pipe.cancel(ResetCode.TooManyStreams);
  else lanes.add(pipe);
}
