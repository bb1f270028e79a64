import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { FailsAcceptor } from "../fails/acceptor.js";
import { divert } from "./divert.js";
import { type Listen, type Listener, MAX_SESSIONS } from "./listener.js";
import { socketListener, startServer, trackSockets } from "./socket-server.js";
import { ServerTls } from "./tls-settings.js";
import { WebSocketUpgrades } from "./web-socket.js";

/** What a TCP port for the web offers. */
export interface WebOffer {
  /** WebSocket, over HTTP/1.1. */
  readonly webSocket: boolean;
  /** WebTransport over HTTP/2, and the WebSocket of its ponyfill. */
  readonly http2: boolean;
}

/** Listens for `ws://`: WebSocket without encryption. */
export const listenWs: Listen = (target, settings, onArrival) =>
  listen(false, { webSocket: true, http2: false }, target, settings, onArrival);

/** Listens for `wss://`, and for what else is offered, on one port: clients choose HTTP/1.1 or HTTP/2 in the TLS handshake (RFC 7301). */
export function listenWeb(offer: WebOffer): Listen {
  return (target, settings, onArrival) => listen(true, offer, target, settings, onArrival);
}

const listen = async (
  secure: boolean,
  offer: WebOffer,
  ...[{ host, port, path: given }, settings, onArrival]: Parameters<Listen>
): Promise<Listener> => {
  const path = given || "/";
  const { limits, transport } = settings;
  const timeouts = { headersTimeout: limits.maxHandshakeMs, connectionsCheckingInterval: limits.maxHandshakeMs / 2 };
  const webSockets = offer.webSocket
    ? new WebSocketUpgrades(path, secure ? undefined : (host ?? ""), settings)
    : undefined;
  const fails = offer.http2 ? await FailsAcceptor.create(path, settings, () => listener.url, onArrival) : undefined;
  const tls = secure ? new ServerTls(settings) : undefined;
  const secureServer =
    tls &&
    createHttpsServer({
      ...timeouts,
      ...tls.options,
      handshakeTimeout: limits.maxHandshakeMs,
      ALPNProtocols: fails === undefined ? ["http/1.1"] : ["h2", "http/1.1"],
    });
  const server = secureServer ?? createServer(timeouts);
  if (fails !== undefined) {
    // Before the server reads HTTP/1.1 from it.
    divert(server, "secureConnection", (socket: TLSSocket) => {
      const isHttp2 = socket.alpnProtocol === "h2";
      if (isHttp2) fails.takeConnection(socket);
      return isHttp2;
    });
  }
  server.maxConnections = transport?.maxSessions ?? MAX_SESSIONS;
  server.on("request", (_, response) => response.writeHead(426, { upgrade: "websocket" }).end());
  const sockets = trackSockets(server);
  server.on("upgrade", (request, _, head) => {
    if (fails?.asks(request) === true) {
      const status = fails.refusal(request);
      if (status === undefined) fails.takeUpgrade(request, head);
      else refuse(request, status);
      return;
    }
    const status = webSockets === undefined ? 400 : webSockets.refusal(request);
    if (status === undefined) webSockets?.take(request, head, listener.url, onArrival);
    else refuse(request, status);
  });
  await startServer(server, { port, ...(host !== undefined && { host }) });
  const scheme = !secure ? "ws" : offer.webSocket ? "wss" : "https";
  const listener = socketListener(server, sockets, (authority) => `${scheme}://${authority}${path}`);
  return {
    ...listener,
    stop: () => {
      fails?.stop();
      listener.stop();
    },
    ...(secureServer !== undefined && { updateTls: (settings) => tls?.update(secureServer, settings) }),
  };
};

function refuse({ socket }: IncomingMessage, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
