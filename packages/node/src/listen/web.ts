import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { FailsAcceptor } from "../fails/acceptor.js";
import { divert } from "./divert.js";
import { Door, doorLimits } from "./door.js";
import type { Listen, Listener } from "./listener.js";
import { type Guest, Guests, socketListener, startServer } from "./socket-server.js";
import { ServerTls } from "./tls-settings.js";
import { MAX_HEADER_FIELDS, WebSocketUpgrades } from "./web-socket.js";

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
  const door = new Door(doorLimits(transport, limits));
  const webSockets = offer.webSocket
    ? new WebSocketUpgrades(path, secure ? undefined : (host ?? ""), settings)
    : undefined;
  const fails = offer.http2
    ? await FailsAcceptor.create(path, settings, door, () => listener.url, onArrival)
    : undefined;
  const tls = secure ? new ServerTls(settings) : undefined;
  const secureServer =
    tls &&
    createHttpsServer({
      ...tls.options,
      ALPNProtocols: fails === undefined ? ["http/1.1"] : ["h2", "http/1.1"],
    });
  const server = secureServer ?? createServer();
  if (fails !== undefined) {
    // Before the server reads HTTP/1.1 from it.
    divert(server, "secureConnection", (_, socket: TLSSocket) => {
      if (socket.alpnProtocol !== "h2") return false;
      const guest = guests.of(socket);
      if (guest === undefined) socket.destroy();
      else fails.takeConnection(socket, guest);
      return true;
    });
  }
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.on("request", (_, response) => response.writeHead(426, { upgrade: "websocket" }).end());
  server.on("upgrade", (request, _, head) => {
    const guest = guests.of(request.socket);
    if (guest === undefined) {
      request.socket.destroy();
      return;
    }
    const isPonyfill = fails?.asks(request) === true;
    const status =
      refusalOfFields(request) ??
      (isPonyfill ? fails.refusal(request) : webSockets === undefined ? 400 : webSockets.refusal(request));
    if (status !== undefined) refuse(request, guest, status);
    else if (isPonyfill) fails.takeUpgrade(request, head, guest);
    else webSockets?.take(request, head, guest, listener.url, onArrival);
  });
  const guests = new Guests(server, door, settings.trustedProxies);
  await startServer(server, { port, ...(host !== undefined && { host }) });
  const scheme = !secure ? "ws" : offer.webSocket ? "wss" : "https";
  const listener = socketListener(server, guests.sockets, (authority) => `${scheme}://${authority}${path}`);
  return {
    ...listener,
    stop: () => {
      fails?.stop();
      listener.stop();
    },
    ...(secureServer !== undefined && { updateTls: (settings) => tls?.update(secureServer, settings) }),
  };
};

function refusalOfFields({ rawHeaders }: IncomingMessage): 431 | undefined {
  return rawHeaders.length > 2 * MAX_HEADER_FIELDS ? 431 : undefined;
}

function refuse({ socket }: IncomingMessage, { visit }: Guest, status: number): void {
  visit.refuse();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
