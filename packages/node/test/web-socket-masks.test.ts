import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { WEBSOCKET_PROTOCOL } from "@quicrpc/core/transport";
import { devCertificate, dial } from "@quicrpc/node";
import { expect, it, onTestFinished } from "vitest";
import { WebSocketServer } from "ws";

/** The first bytes that a client sends over a WebSocket at `scheme`. */
async function firstFrame(scheme: "ws" | "wss"): Promise<Buffer> {
  const { cert, key, hash } = await devCertificate();
  const server = scheme === "ws" ? createServer() : createTlsServer({ cert, key });
  const sockets = new WebSocketServer({ server, handleProtocols: () => WEBSOCKET_PROTOCOL });
  const frame = new Promise<Buffer>((resolve) => {
    sockets.on("connection", (_, { socket }) => socket.once("data", resolve));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const trust = scheme === "ws" ? {} : { serverCertificateHashes: [hash] };
  const dialling = dial(`${scheme}://127.0.0.1:${port}/rpc`, trust).catch((error: unknown) => error);
  onTestFinished(async () => {
    for (const socket of sockets.clients) socket.terminate();
    await dialling;
    server.close();
  });
  return frame;
}

/** RFC 6455 §5.2: a message of at most 125 bytes has its key behind its second byte. */
const keyOf = (frame: Buffer): readonly number[] => {
  expect(frame.readUInt8(1) & 0x80, "masked").toBe(0x80);
  expect(frame.readUInt8(1) & 0x7f, "short").toBeLessThan(126);
  return [...frame.subarray(2, 6)];
};

it.each(["ws", "wss"] as const)("a client over %s:// masks with a key of its own for each frame", async (scheme) => {
  const keys = [keyOf(await firstFrame(scheme)), keyOf(await firstFrame(scheme))];
  expect(keys).not.toContainEqual([0, 0, 0, 0]);
  expect(keys[0]).not.toEqual(keys[1]);
});
