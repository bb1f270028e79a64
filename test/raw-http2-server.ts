import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

const HEAD_BYTES = 9;
const PREFACE_BYTES = 24;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
/** The field ":status: 200" in HPACK's static table. */
const STATUS_200 = 0x88;
const MAX_CONCURRENT_STREAMS = 3;

/** Types of frames (RFC 9113 §6). */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, goaway: 7 } as const;

export interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Encodes numbers of 32 bits. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function literals(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );
}

export const resetFrame = (stream: number, code: number): Buffer => frame(FRAME.reset, 0, stream, numbers(code));

export const goawayFrame = (lastStream: number, code: number): Buffer =>
  frame(FRAME.goaway, 0, 0, numbers(lastStream, code));

export const dataFrame = (stream: number, bytes: Uint8Array): Buffer =>
  frame(FRAME.data, 0, stream, Buffer.from(bytes));

/** The head of a response with the status 200. */
export function headFrame(stream: number, fields: Readonly<Record<string, string>>, isEnd = false): Buffer {
  const flags = END_HEADERS | (isEnd ? END_STREAM : 0);
  return frame(FRAME.headers, flags, stream, Buffer.concat([Buffer.from([STATUS_200]), literals(fields)]));
}

/** Serves HTTP/2 frame by frame, as no server of Node does. It grants no more than the initial flow control windows. */
export async function serveFrames(
  onFrame: (frame: Frame, socket: Socket) => void,
  maxConcurrentStreams: number = 100,
): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    const settings = Buffer.concat([Buffer.from([0, MAX_CONCURRENT_STREAMS]), numbers(maxConcurrentStreams)]);
    socket.write(frame(FRAME.settings, 0, 0, settings));
    let received: Buffer = Buffer.alloc(0);
    let hasPreface = false;
    socket.on("data", (piece) => {
      received = Buffer.concat([received, piece]);
      if (!hasPreface) {
        if (received.length < PREFACE_BYTES) return;
        hasPreface = true;
        received = received.subarray(PREFACE_BYTES);
      }
      while (received.length >= HEAD_BYTES) {
        const end = HEAD_BYTES + received.readUIntBE(0, 3);
        if (received.length < end) return;
        const type = received.readUInt8(3);
        const isAck = (received.readUInt8(4) & ACK) !== 0;
        if (type === FRAME.settings && !isAck) socket.write(frame(FRAME.settings, ACK, 0));
        const stream = received.readUInt32BE(5);
        const payload = received.subarray(HEAD_BYTES, end);
        received = received.subarray(end);
        onFrame({ type, stream, payload }, socket);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
