import { createServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import { WEBSOCKET_PROTOCOL, webSocketSession } from "@quicrpc/core";
import { type WebSocket, WebSocketServer } from "ws";
import { originAllowed } from "../peer.js";
import { MAX_WEBSOCKET_MESSAGE } from "../protocol.js";
import { type Arrival, type Listen, type ListenSettings, MAX_SESSIONS } from "./listener.js";
import { remoteAddressOf, socketListener, startServer, trackSockets } from "./socket-server.js";
import { certificateRefusal, serverTls, verifiedCertificate } from "./tls-settings.js";

/** Listens for `ws://`: WebSocket over HTTP/1.1. */
export const listenWs: Listen = (target, settings, onArrival) => listen("ws", target, settings, onArrival);

/** Listens for `wss://`: WebSocket over HTTPS. */
export const listenWss: Listen = (target, settings, onArrival) => listen("wss", target, settings, onArrival);

const listen = async (
  scheme: "ws" | "wss",
  ...[{ host, port, path }, settings, onArrival]: Parameters<Listen>
): ReturnType<Listen> => {
  const { limits, transport, allowedOrigins } = settings;
  const timeouts = { headersTimeout: limits.maxHandshakeMs, connectionsCheckingInterval: limits.maxHandshakeMs / 2 };
  const server =
    scheme === "ws"
      ? createServer(timeouts)
      : createHttpsServer({ ...timeouts, ...serverTls(settings), handshakeTimeout: limits.maxHandshakeMs });
  server.maxConnections = transport?.maxSessions ?? MAX_SESSIONS;
  server.on("request", (_, response) => response.writeHead(426, { upgrade: "websocket" }).end());
  const sockets = trackSockets(server);
  const upgrader = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_WEBSOCKET_MESSAGE,
    handleProtocols: (offered) => (offered.has(WEBSOCKET_PROTOCOL) ? WEBSOCKET_PROTOCOL : false),
  });
  await startServer(server, { port, ...(host !== undefined && { host }) });
  const listener = socketListener(server, sockets, (authority) => `${scheme}://${authority}${path}`);
  server.on("upgrade", (request, socket, head) => {
    const refusal = refusalOf(request, path, originAllowed(request.headers.origin, allowedOrigins));
    if (refusal !== undefined) refuse(socket, refusal);
    else upgrader.handleUpgrade(request, socket, head, (ws) => onArrival(arrival(ws, request, listener.url, settings)));
  });
  return listener;
};

function refusalOf(request: IncomingMessage, path: string, allowed: boolean): string | undefined {
  if (pathOf(request.url) !== path) return "404 Not Found";
  if (!allowed) return "403 Forbidden";
  const offered = request.headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim()) ?? [];
  return offered.includes(WEBSOCKET_PROTOCOL) ? undefined : "400 Bad Request";
}

/** Without the query. */
function pathOf(url: string | undefined): string {
  return (url ?? "/").replace(/\?.*$/s, "");
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function arrival(ws: WebSocket, request: IncomingMessage, url: string, settings: ListenSettings): Arrival {
  const { socket } = request;
  return {
    refusal: certificateRefusal(socket, settings),
    transport: webSocketSession(ws, "server", { closeTimeoutMs: settings.limits.maxCloseMs }),
    peer: {
      transport: "websocket",
      listener: url,
      remoteAddress: remoteAddressOf(socket),
      headers: headersOf(request),
      path: request.url,
      origin: request.headers.origin,
      certificate: verifiedCertificate(socket),
      earlyData: false,
      handshake: Promise.resolve(),
    },
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  }
  return headers;
}
