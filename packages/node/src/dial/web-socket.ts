import type { Socket } from "node:net";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import { type DirectSession, WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { WebSocket } from "ws";
import { MAX_WEBSOCKET_MESSAGE } from "../protocol.js";
import { exporterOf } from "../stream/node-stream.js";
import { attempt, hostOf, type TransportDialOptions } from "../transport/dialling.js";
import { connectTrusted } from "./tls.js";

/** Dials `ws://` and `wss://`. */
export function dialWebSocket(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return attempt(url, options, (resolve, reject) => {
    let socket: WebSocket | undefined;
    const request = (connection?: Socket): void => {
      socket = openWebSocket(url, connection, options, resolve, reject);
    };
    if (url.protocol === "ws:") {
      request();
      return () => socket?.terminate();
    }
    const target = { host: hostOf(url), port: url.port === "" ? 443 : Number(url.port), alpn: "http/1.1" };
    const connection = connectTrusted(url, target, options, request, reject);
    return () => {
      socket?.terminate();
      connection.destroy();
    };
  });
}

/** @param connection to the server, where it had to be made beforehand */
function openWebSocket(
  url: URL,
  connection: Socket | undefined,
  { headers, limits }: TransportDialOptions,
  resolve: (session: DirectSession) => void,
  reject: (error: unknown) => void,
): WebSocket {
  // Where the server has vanished, the socket would keep the process for 30 s. The package's types do not know the option.
  const closing = { closeTimeout: limits?.maxCloseMs ?? DEFAULT_LIMITS.maxCloseMs };
  const socket = new WebSocket(url, [WEBSOCKET_PROTOCOL], {
    ...closing,
    perMessageDeflate: false,
    maxPayload: MAX_WEBSOCKET_MESSAGE,
    ...(headers !== undefined && { headers }),
    ...(connection !== undefined && { createConnection: () => connection, generateMask: noMask }),
  });
  // Before it opens: messages may come at once.
  const session = webSocketTransport(socket, "client", {
    ...(limits?.maxCloseMs !== undefined && { closeTimeoutMs: limits.maxCloseMs }),
    ...exporterOf(connection),
  });
  socket.once("error", reject);
  socket.once("unexpected-response", (request, { statusCode: status }) => {
    request.destroy();
    reject(
      Object.assign(new Error(`the server answered the request for a WebSocket with status ${status}`), { status }),
    );
  });
  socket.once("open", () => resolve(session));
  return socket;
}

/**
 * The key zero. Masks keep scripts of pages from writing what an old proxy takes for HTTP (RFC 6455 §10.3): within TLS no proxy
 * sees them, this is no page, and masking in JavaScript takes half of the time of a large message.
 */
function noMask(key: Buffer): void {
  key.fill(0);
}
