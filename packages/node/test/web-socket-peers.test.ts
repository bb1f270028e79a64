// Servers and clients over WebSocket with peers that are others' work: the ws package, and hands that write frames.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { dial, serve } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { heap } from "../../../test/behaviour/heap.js";
import { closedAfterEach } from "../../../test/open.js";

const bytes = uncheckedCodec<Uint8Array>();
const methods = {
  echo: defineMethod({ name: "test.v1.Peers", id: 7013 }, "unary", "echo", { id: 1, input: bytes, output: bytes }),
};
const routers = [createRouter(methods, { echo: (input) => input })];
const open = closedAfterEach();

const large = Uint8Array.from({ length: 900_000 }, (_, i) => i % 251);
/** The greeting of a client on its byte stream: the stream's kind, and a hello. */
const GREETING = Uint8Array.of(0x02, 0x40, 0x03, 0x00, 0x00, 0x01);

async function served(): Promise<string> {
  const server = await serve({ listen: "ws://127.0.0.1:0", routers });
  open.push(server);
  return server.urls[0] as string;
}

/** A client of the ws package's, which greets nobody by itself. */
async function bareClient(): Promise<WebSocket> {
  const socket = new WebSocket(await served(), WEBSOCKET_PROTOCOL);
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

/** A server that agrees to one WebSocket and then does what `act` does with the connection. */
async function bareServer(
  act: (socket: Socket, request: IncomingMessage) => void,
  answer: (accept: string) => string = (accept) =>
    `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${WEBSOCKET_PROTOCOL}\r\n`,
): Promise<string> {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on("upgrade", (request, duplex) => {
    const socket = duplex as Socket;
    sockets.push(socket);
    socket.on("error", () => {});
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    socket.write(`HTTP/1.1 101 Yes\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n${answer(accept)}\r\n`);
    act(socket, request);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/rpc?of=test`;
}

it("a client of the ws package calls a server, with messages of any size", async () => {
  const session = createSession(webSocketTransport(new WebSocket(await served(), WEBSOCKET_PROTOCOL), "client"));
  open.push(session);
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 900_000]) {
    const answer = await session.unary(methods.echo, large.subarray(0, length));
    expect(Buffer.compare(answer, large.subarray(0, length))).toBe(0);
  }
});

it("a server of the ws package is called, with messages of any size", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => WEBSOCKET_PROTOCOL });
  await once(server, "listening");
  server.on("connection", (socket) => {
    open.push(createSession(webSocketTransport(socket, "server"), { routers }));
  });
  onTestFinished(() => server.close());
  const session = await dial(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  open.push(session);
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 900_000]) {
    const answer = await session.unary(methods.echo, large.subarray(0, length));
    expect(Buffer.compare(answer, large.subarray(0, length))).toBe(0);
  }
});

it("a server answers pings, also between the fragments of a message", async () => {
  const socket = await bareClient();
  const pong = once(socket, "pong");
  socket.send(GREETING.subarray(0, 3), { fin: false });
  socket.ping("in between");
  socket.send(GREETING.subarray(3), { fin: true });
  expect(String((await pong)[0])).toBe("in between");
});

it("a server answers a close frame with its code, and ends the connection", async () => {
  const socket = await bareClient();
  socket.close(4321, "enough");
  expect((await once(socket, "close"))[0]).toBe(4321);
});

it.each([
  ["a text message", (socket: WebSocket) => socket.send("text"), 1003],
  ["a message of more than 1 MiB", (socket: WebSocket) => socket.send(new Uint8Array(2 ** 20 + 1)), 1009],
  [
    "fragments of more than 1 MiB",
    (socket: WebSocket) => {
      // A frame of 2 MiB of this protocol, which may be.
      socket.send(Uint8Array.of(...GREETING, 0x80, 0x20, 0x00, 0x00), { fin: false });
      for (let i = 0; i < 17; i++) socket.send(new Uint8Array(65_536), { fin: false });
    },
    1009,
  ],
  ["a frame without a mask", (socket: WebSocket) => socket.send(GREETING, { mask: false }), 1002],
])("a server closes a WebSocket for %s", async (_, act, code) => {
  const socket = await bareClient();
  act(socket);
  expect((await once(socket, "close"))[0]).toBe(code);
});

it("pings of a peer that reads no answers take no memory", async () => {
  const pongs: string[] = [];
  let flooded: Socket | undefined;
  const url = await bareServer((socket) => {
    flooded = socket;
    socket.pause();
  });
  const dialling = dial(url).catch((error: unknown) => error);
  await expect.poll(() => flooded).toBeDefined();
  const socket = flooded as Socket;
  const ping = (i: number): Buffer => Buffer.concat([Buffer.of(0x89, 125), Buffer.alloc(125, i)]);
  const before = heap();
  // 40 MB of them, while none of the answers is read.
  for (let round = 0; round < 400; round++) {
    const block = Buffer.concat(Array.from({ length: 800 }, (_, i) => ping(i % 200)));
    if (!socket.write(block)) await once(socket, "drain");
  }
  expect(heap() - before).toBeLessThan(10e6);
  // The last is answered when there is room.
  socket.write(ping(222));
  socket.on("data", (chunk: Buffer) => {
    if (chunk.length >= 131) pongs.push("some");
  });
  socket.resume();
  await expect.poll(() => pongs.length).toBeGreaterThan(0);
  socket.destroy();
  await dialling;
});

it.each([
  ["does not know the key", () => "Sec-WebSocket-Accept: AAAA\r\n", "has a wrong Sec-WebSocket-Accept"],
  ["does not agree on the subprotocol", (accept: string) => `Sec-WebSocket-Accept: ${accept}\r\n`, "quicrpc.v1"],
  [
    "has an extension",
    (accept: string) =>
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${WEBSOCKET_PROTOCOL}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n`,
    "extensions",
  ],
])("a client refuses an answer that %s", async (_, answer, text) => {
  await expect(dial(await bareServer(() => {}, answer))).rejects.toThrow(text);
});

it("a client loses a session whose server masks its frames, and says why", async () => {
  const url = await bareServer((socket) => void socket.write(Buffer.of(0x82, 0x81, 1, 2, 3, 4, 5)));
  const session = await dial(url);
  open.push(session);
  await expect(session.unary(methods.echo, GREETING)).rejects.toThrow("a frame of the server is masked");
});

it.each<[string, { method?: string; headers?: Record<string, string> }, number]>([
  ["another method", { method: "POST" }, 405],
  ["another version", { headers: { "sec-websocket-version": "8" } }, 426],
  ["no key", { headers: { "sec-websocket-key": "short" } }, 400],
  ["another subprotocol", { headers: { "sec-websocket-protocol": "other" } }, 400],
])("a server refuses a request with %s", async (_, { method = "GET", headers = {} }, status) => {
  const { request } = await import("node:http");
  const asking = request((await served()).replace("ws:", "http:"), {
    method,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": Buffer.alloc(16).toString("base64"),
      "sec-websocket-protocol": WEBSOCKET_PROTOCOL,
      ...headers,
    },
  }).end();
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  expect(answer.statusCode).toBe(status);
  if (status === 426) expect(answer.headers["sec-websocket-version"]).toBe("13");
});
