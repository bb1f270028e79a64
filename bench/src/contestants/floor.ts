import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, createServer as createTlsServer } from "node:tls";
import { Packr } from "msgpackr";
import type { Duplex } from "node:stream";
import { type Client, service, type Contestant } from "../contestant.js";

/**
 * A lower bound for calls over TCP: msgpackr payloads after a length, an id and a method, written by hand; frames of
 * one turn in one write; no validation, errors, cancellation, limits or backpressure.
 */
function floor(secure: boolean): Contestant {
  return {
    async serve(host, { cert, key }) {
      const server = secure
        ? createTlsServer({ cert, key, minVersion: "TLSv1.3", noDelay: true }, serveFloor)
        : createTcpServer({ noDelay: true }, serveFloor);
      await new Promise<void>((resolve) => server.listen(0, host, resolve));
      return (server.address() as AddressInfo).port;
    },
    async connect(host, port, { cert }) {
      const socket = secure ? connectTls({ ...trusting(cert), host, port }) : connectTcp({ host, port });
      return opened(socket, secure ? "secureConnect" : "connect");
    },
    ...(secure && { resume: resumingTls() }),
  };
}

function trusting(ca: string): ConnectionOptions {
  return { ca, servername: "localhost", minVersion: "TLSv1.3" };
}

/** Resumes TLS sessions. Node sends no early data over TLS, so this saves the certificate but not a round trip. */
function resumingTls(): NonNullable<Contestant["resume"]> {
  let session: Buffer | undefined;
  return (host, port, { cert }) => {
    const socket = connectTls({ ...trusting(cert), host, port, ...(session && { session }) });
    socket.on("session", (ticket) => (session = ticket));
    return opened(socket, "secureConnect");
  };
}

/** Answers the frames of a connection. */
export function serveFloor(socket: Duplex): void {
  const out = new Output(socket);
  socket.on("error", () => {});
  readFrames(socket, (method, id, payload) => answer(out, method, id, payload));
}

/** Makes calls with frames over an open connection. */
export function floorClient(socket: Duplex): Client {
  return new FloorClient(socket);
}

async function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<Client> {
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => socket.once(event, resolve).once("error", reject));
  return floorClient(socket);
}

export const tlsFloor: Contestant = floor(true);
export const tcpFloor: Contestant = floor(false);

const packr = new Packr({ useRecords: false, variableMapSize: true });
const NOTHING = Buffer.alloc(0);
const HEADER = 9;
const MULTIPLY = 1;
const EMPTY = 2;
const ECHO = 3;
const WAIT = 4;
const ITEMS = 5;
const UPLOAD = 6;
const DONE = 7;
const PIPE = 8;

let uploaded = 0;

function answer(out: Output, method: number, id: number, payload: Buffer): void {
  if (method === MULTIPLY) {
    const { a, b } = packr.unpack(payload) as { a: number; b: number };
    out.frame(method, id, packr.pack({ pro: service.multiply(a, b) }));
  } else if (method === EMPTY) {
    out.frame(method, id, NOTHING);
  } else if (method === ECHO) {
    out.frame(method, id, packr.pack(packr.unpack(payload)));
  } else if (method === WAIT) {
    const { ms } = packr.unpack(payload) as { ms: number };
    void service.wait(ms).then(() => out.frame(method, id, NOTHING));
  } else if (method === ITEMS) {
    const { count } = packr.unpack(payload) as { count: number };
    for (let i = 0; i < count; i++) out.frame(method, id, packr.pack({ i }));
    out.frame(DONE, id, NOTHING);
  } else if (method === UPLOAD) {
    uploaded += (packr.unpack(payload) as Uint8Array).length;
  } else if (method === PIPE) {
    out.frame(method, id, packr.pack(packr.unpack(payload)));
  } else {
    out.frame(DONE, id, packr.pack({ bytes: uploaded }));
    uploaded = 0;
  }
}

class FloorClient implements Client {
  private readonly out: Output;
  private readonly socket: Duplex;
  private readonly pending: ((payload: Buffer) => void)[] = [];
  private readonly free: number[] = [];
  private received = 0;

  constructor(socket: Duplex) {
    this.socket = socket;
    this.out = new Output(socket);
    readFrames(socket, (method, id, payload) => {
      if (method === ITEMS) {
        packr.unpack(payload);
        this.received++;
        return;
      }
      if (method === PIPE) {
        this.received += (packr.unpack(payload) as Uint8Array).length;
        return;
      }
      const resolve = this.pending[id] as (payload: Buffer) => void;
      this.free.push(id);
      resolve(payload);
    });
  }

  async multiply(a: number, b: number): Promise<number> {
    return (packr.unpack(await this.ask(MULTIPLY, packr.pack({ a, b }))) as { pro: number }).pro;
  }

  empty(): Promise<unknown> {
    return this.ask(EMPTY, NOTHING);
  }

  async echo(bytes: Uint8Array): Promise<Uint8Array> {
    return packr.unpack(await this.ask(ECHO, packr.pack(bytes))) as Uint8Array;
  }

  wait(ms: number): Promise<unknown> {
    return this.ask(WAIT, packr.pack({ ms }));
  }

  async items(count: number): Promise<number> {
    this.received = 0;
    await this.ask(ITEMS, packr.pack({ count }));
    return this.received;
  }

  async upload(chunk: Uint8Array, count: number): Promise<number> {
    for (let i = 0; i < count; i++) {
      this.out.frame(UPLOAD, 0, packr.pack(chunk));
      if (this.socket.writableNeedDrain) await new Promise((resolve) => this.socket.once("drain", resolve));
    }
    return (packr.unpack(await this.ask(DONE, NOTHING)) as { bytes: number }).bytes;
  }

  async pipe(chunk: Uint8Array, count: number): Promise<number> {
    this.received = 0;
    for (let i = 0; i < count; i++) {
      this.out.frame(PIPE, 0, packr.pack(chunk));
      if (this.socket.writableNeedDrain) await new Promise((resolve) => this.socket.once("drain", resolve));
    }
    // Answered after everything that was sent before it.
    await this.ask(DONE, NOTHING);
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }

  private ask(method: number, payload: Uint8Array): Promise<Buffer> {
    return new Promise((resolve) => {
      const id = this.free.pop() ?? this.pending.length;
      this.pending[id] = resolve;
      this.out.frame(method, id, payload);
    });
  }
}

class Output {
  private buffer = Buffer.allocUnsafe(64 * 1024);
  private length = 0;
  private readonly socket: Duplex;
  private readonly flush = (): void => {
    this.socket.write(this.buffer.subarray(0, this.length));
    // The socket may still hold the bytes: they are not written again.
    this.buffer = this.buffer.subarray(this.length);
    if (this.buffer.length < 4096) this.buffer = Buffer.allocUnsafe(64 * 1024);
    this.length = 0;
  };

  constructor(socket: Duplex) {
    this.socket = socket;
  }

  frame(method: number, id: number, payload: Uint8Array): void {
    const size = HEADER + payload.length;
    if (this.length + size > this.buffer.length) {
      if (this.length > 0) this.flush();
      if (size > this.buffer.length) this.buffer = Buffer.allocUnsafe(Math.max(64 * 1024, size));
    }
    if (this.length === 0) queueMicrotask(() => this.length > 0 && this.flush());
    this.buffer.writeUInt32LE(payload.length, this.length);
    this.buffer.writeUInt32LE(id, this.length + 4);
    this.buffer[this.length + 8] = method;
    this.buffer.set(payload, this.length + HEADER);
    this.length += size;
  }
}

function readFrames(socket: Duplex, onFrame: (method: number, id: number, payload: Buffer) => void): void {
  let parts: Buffer[] = [];
  let length = 0;
  let wanted = HEADER;
  socket.on("data", (chunk: Buffer) => {
    parts.push(chunk);
    length += chunk.length;
    if (length < wanted) return;
    const bytes = parts.length === 1 ? chunk : Buffer.concat(parts);
    let at = 0;
    wanted = HEADER;
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUInt32LE(at);
      if (end > bytes.length) {
        wanted = end - at;
        break;
      }
      onFrame(bytes[at + 8] as number, bytes.readUInt32LE(at + 4), bytes.subarray(at + HEADER, end));
      at = end;
    }
    const rest = bytes.subarray(at);
    parts = rest.length === 0 ? [] : [rest];
    length = rest.length;
  });
}
