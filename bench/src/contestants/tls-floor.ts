import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { Packr } from "msgpackr";
import type { Contestant } from "../contestant.js";

/**
 * What nothing on TCP can be much cheaper than: msgpackr payloads behind a length and an id, written by hand over TLS;
 * frames of one turn in one write; no validation, no errors, no cancellation, no limits.
 */
export const tlsFloor: Contestant = {
  name: "floor: msgpackr over TLS",
  async serve({ cert, key }) {
    const server = createServer({ cert, key, minVersion: "TLSv1.3", noDelay: true }, (socket) => {
      const out = new Output(socket);
      socket.on("error", () => {});
      readFrames(socket, (id, payload) => {
        const { a, b } = packr.unpack(payload) as { a: number; b: number };
        out.frame(id, packr.pack({ pro: a * b }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
  async connect(port, { cert }) {
    const socket = connect({ host: "127.0.0.1", port, ca: cert, servername: "localhost", minVersion: "TLSv1.3" });
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    const out = new Output(socket);
    const pending: ((product: number) => void)[] = [];
    const free: number[] = [];
    readFrames(socket, (id, payload) => {
      const resolve = pending[id] as (product: number) => void;
      free.push(id);
      resolve((packr.unpack(payload) as { pro: number }).pro);
    });
    return {
      multiply: (a, b) =>
        new Promise((resolve) => {
          const id = free.pop() ?? pending.length;
          pending[id] = resolve;
          out.frame(id, packr.pack({ a, b }));
        }),
      close: () => void socket.destroy(),
    };
  },
};

const packr = new Packr({ useRecords: false, variableMapSize: true });
const HEADER = 8;

class Output {
  private buffer = Buffer.allocUnsafe(64 * 1024);
  private length = 0;
  private readonly socket: TLSSocket;
  private readonly flush = (): void => {
    this.socket.write(this.buffer.subarray(0, this.length));
    // The socket may still hold the bytes: they are not written again.
    this.buffer = this.buffer.subarray(this.length);
    if (this.buffer.length < 4096) this.buffer = Buffer.allocUnsafe(64 * 1024);
    this.length = 0;
  };

  constructor(socket: TLSSocket) {
    this.socket = socket;
  }

  frame(id: number, payload: Uint8Array): void {
    const size = HEADER + payload.length;
    if (this.length + size > this.buffer.length) {
      if (this.length > 0) this.flush();
      if (size > this.buffer.length) this.buffer = Buffer.allocUnsafe(Math.max(64 * 1024, size));
    }
    if (this.length === 0) queueMicrotask(() => this.length > 0 && this.flush());
    this.buffer.writeUInt32LE(payload.length, this.length);
    this.buffer.writeUInt32LE(id, this.length + 4);
    this.buffer.set(payload, this.length + HEADER);
    this.length += size;
  }
}

function readFrames(socket: TLSSocket, onFrame: (id: number, payload: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      onFrame(bytes.readUInt32LE(at + 4), bytes.subarray(at + HEADER, end));
      at = end;
    }
    rest = bytes.subarray(at);
  });
}
