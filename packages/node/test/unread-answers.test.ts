import { on } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { devCertificate, serve } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";

const MIB = 1_048_576;
/** A hello with whatever settings: its length, type and id, and the version. */
const SERVER_HELLO = /40..000001/;
const LANE_AND_HELLO = Buffer.from("024003000001", "hex");
/** 10 bytes follow | type Ping | call id 0 | 8 bytes, which come back. */
const PINGS = Buffer.concat(Array.from({ length: 4096 }, () => Buffer.from("0a0b000102030405060708", "hex")));
const UPGRADE =
  "GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: quicrpc.v1\r\n\r\n";

/** A binary WebSocket message that is masked with zeros, as a client's must be. */
function message(bytes: Buffer): Buffer {
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0xfe, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([0x82, ...length, 0, 0, 0, 0]), bytes]);
}

/** A connection to a default server, which has answered once. */
async function connected(scheme: "tcp" | "tls" | "ws" | "wss"): Promise<Socket> {
  const { cert, key } = await devCertificate();
  const isWebSocket = scheme.startsWith("ws");
  const server = await serve({
    routers: [],
    listen: [`${scheme}://127.0.0.1:0${isWebSocket ? "/rpc" : ""}`],
    tls: { cert, key },
  });
  const port = Number(new URL(server.urls[0] as string).port);
  const isTls = scheme === "tls" || scheme === "wss";
  const socket = isTls
    ? connectTls({ port, host: "127.0.0.1", ca: cert, ALPNProtocols: [isWebSocket ? "http/1.1" : "quicrpc/1"] })
    : connectTcp(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(async () => {
    socket.destroy();
    await server.close();
  });
  if (isWebSocket) socket.write(UPGRADE);
  socket.write(isWebSocket ? message(LANE_AND_HELLO) : LANE_AND_HELLO);
  // The server sends nothing after its hello unless it is asked.
  let received = "";
  for await (const [chunk] of on(socket, "data")) {
    received += (chunk as Buffer).toString("hex");
    if (SERVER_HELLO.test(received)) break;
  }
  socket.pause();
  return socket;
}

/** Writes until nothing was taken for 300 turns of the event loop, or 64 MiB were; returns the bytes taken. */
async function takenOf(socket: Socket, chunk: Buffer): Promise<number> {
  let before = -1;
  let taken = 0;
  for (let idle = 0; idle < 300 && taken < 64 * MIB && !socket.destroyed; ) {
    if (!socket.writableNeedDrain) socket.write(chunk);
    await new Promise(setImmediate);
    taken = socket.bytesWritten - socket.writableLength;
    idle = taken === before ? idle + 1 : 0;
    before = taken;
  }
  return taken;
}

it.each(["tcp", "tls", "ws", "wss"] as const)(
  "a server reads no more pings over %s from a client that does not read its answers",
  async (scheme) => {
    const socket = await connected(scheme);
    // Small records: TLS delivers several of them after each pause.
    if (socket instanceof TLSSocket) socket.setMaxSendFragment(512);
    const taken = await takenOf(socket, scheme.startsWith("ws") ? message(PINGS) : PINGS);
    expect(socket.destroyed).toBe(false);
    // Buffers of the kernel hold some MiB of either direction.
    expect(taken / MIB).toBeLessThan(24);
  },
);
