import { connect, type Socket } from "node:net";
import { once } from "node:events";

/** Bytes of a frame's head (RFC 9113 §4.1). */
const HEAD_BYTES = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const WINDOW_UPDATE = 8;
const ACK = 1;
const END_HEADERS = 4;
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** The one stream of such a client. */
const STREAM = 1;
const MAX_DATA_BYTES = 16_384;

/** The frame of RST_STREAM with this code. */
export function resetFrame(code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(RST_STREAM, 0, STREAM, payload);
}

/** The frame of a request's header fields, without the end of its stream. */
export function headersFrame(fields: Readonly<Record<string, string>>): Buffer {
  const literals = Object.entries(fields).map(([name, value]) =>
    Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]),
  );
  return frame(HEADERS, END_HEADERS, STREAM, Buffer.concat(literals));
}

/** A client of HTTP/2 with one request, which sends what no client of Node's does: a stream that is reset within its body. */
export class RawHttp2 {
  readonly socket: Socket;
  private readonly body: Buffer;
  private sent = 0;
  private streamWindow = 65_535;
  private sessionWindow = 65_535;
  private received: Buffer = Buffer.alloc(0);

  /** @param body sent as fast as the server takes it, without the end of the stream */
  constructor(socket: Socket, body: Buffer) {
    this.socket = socket;
    this.body = body;
    socket.on("error", () => {});
    socket.on("data", (piece) => this.take(piece));
  }

  /** Sends the preface and these frames in one piece, and then the body. */
  static async open(port: number, frames: readonly Buffer[], body: Buffer = Buffer.alloc(0)): Promise<RawHttp2> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const client = new RawHttp2(socket, body);
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), ...frames]));
    client.pump();
    return client;
  }

  private take(piece: Buffer): void {
    this.received = Buffer.concat([this.received, piece]);
    for (;;) {
      if (this.received.length < HEAD_BYTES) return;
      const end = HEAD_BYTES + this.received.readUIntBE(0, 3);
      if (this.received.length < end) return;
      this.look(this.received.subarray(0, end));
      this.received = this.received.subarray(end);
    }
  }

  private look(given: Buffer): void {
    const type = given[3];
    const isAck = ((given[4] ?? 0) & ACK) !== 0;
    if (type === SETTINGS && !isAck) this.socket.write(frame(SETTINGS, ACK, 0));
    if (type !== WINDOW_UPDATE) return;
    const bytes = given.readUInt32BE(HEAD_BYTES);
    if (given.readUInt32BE(5) === 0) this.sessionWindow += bytes;
    else this.streamWindow += bytes;
    this.pump();
  }

  private pump(): void {
    for (;;) {
      const room = Math.min(this.streamWindow, this.sessionWindow, MAX_DATA_BYTES);
      const piece = this.body.subarray(this.sent, this.sent + room);
      if (piece.length === 0) return;
      this.sent += piece.length;
      this.streamWindow -= piece.length;
      this.sessionWindow -= piece.length;
      this.socket.write(frame(DATA, 0, STREAM, piece));
    }
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
