import { createServer, type IncomingMessage, STATUS_CODES } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { divert } from "./divert.js";
import { Door, doorLimits } from "./door.js";
import type { Listen } from "./beside.js";
import type { Listener, WebOffer } from "./listener.js";
import { type Guest, Guests, socketListener, startServer } from "./socket-server.js";
import { ServerTls } from "./tls-settings.js";
import { tellRefusal } from "../refusals.js";
import { MAX_HEADER_FIELDS, WebSocketUpgrades } from "./web-socket.js";

/** Listens for `ws://`: WebSocket without encryption. */
export const listenWs: Listen = (...given) =>
  listen(false, { webSocket: true, protocols: [], http: given[1].web.http }, ...given);

/** Listens for `wss://`. */
export const listenWss: Listen = (...given) =>
  listen(true, { webSocket: true, protocols: [], http: given[1].web.http }, ...given);

/** Listens for what is offered on one port with TLS: clients choose the protocol in the TLS handshake (RFC 7301). */
export function listenWeb(offer: WebOffer): Listen {
  return (...given) => listen(true, offer, ...given);
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
  const acceptors = await Promise.all(
    offer.protocols.map((start) => start(path, settings, door, () => listener.url, onArrival)),
  );
  const tls = secure ? new ServerTls(settings) : undefined;
  const secureServer =
    tls &&
    createHttpsServer({
      ...tls.options,
      ALPNProtocols: [...acceptors.map(({ alpn }) => alpn), "http/1.1"],
    });
  const server = secureServer ?? createServer();
  if (acceptors.length > 0) {
    // Before the server reads HTTP/1.1 from it.
    divert(server, "secureConnection", (_, socket: TLSSocket) => {
      const acceptor = acceptors.find(({ alpn }) => alpn === socket.alpnProtocol);
      if (acceptor === undefined) return false;
      const guest = guests.of(socket);
      if (guest === undefined) socket.destroy();
      else acceptor.takeConnection(socket, guest);
      return true;
    });
  }
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  // Any page can have a name of its own resolve to this machine, which only TLS rules out.
  const isRebound = ({ headers: { origin, host: authority } }: IncomingMessage): boolean =>
    settings.pages.isRebound({ origin, authority, plainHost: host ?? "" });
  server.on("request", (request, response) => {
    const guest = guests.of(request.socket);
    if (offer.http === undefined) response.writeHead(426, { upgrade: "websocket" }).end();
    else if (guest === undefined) request.socket.destroy();
    else if (refusalOfFields(request) !== undefined) response.writeHead(431, { connection: "close" }).end();
    else if (!secure && isRebound(request)) response.writeHead(421).end();
    else offer.http.take(guest, request, response);
  });
  server.on("upgrade", (request, _, head) => {
    const guest = guests.of(request.socket);
    if (guest === undefined) {
      request.socket.destroy();
      return;
    }
    const acceptor = acceptors.find((acceptor) => acceptor.asks(request));
    const refusing = acceptor ?? webSockets;
    const status = refusalOfFields(request) ?? (refusing === undefined ? 400 : refusing.refusal(request));
    if (status !== undefined) refuse(request, guest, status, listener.url);
    else if (acceptor !== undefined) acceptor.takeUpgrade(request, head, guest);
    else webSockets?.take(request, head, guest, listener.url, onArrival);
  });
  const guests = new Guests(server, door, settings.trustedProxies, () => listener.url);
  await startServer(server, { port, ...(host !== undefined && { host }) });
  const scheme = !secure ? "ws" : offer.webSocket ? "wss" : "https";
  const listener = socketListener(server, guests.sockets, (authority) => `${scheme}://${authority}${path}`);
  return {
    ...listener,
    stop: () => {
      for (const acceptor of acceptors) acceptor.stop();
      listener.stop();
    },
    ...(secureServer !== undefined && { updateTls: (settings) => tls?.update(secureServer, settings) }),
  };
};

function refusalOfFields({ rawHeaders }: IncomingMessage): 431 | undefined {
  return rawHeaders.length > 2 * MAX_HEADER_FIELDS ? 431 : undefined;
}

function refuse(
  { socket, url }: IncomingMessage,
  { visit, remoteAddress }: Guest,
  status: number,
  listener: string,
): void {
  visit.refuse();
  const reason = `${url}: status ${status} ${STATUS_CODES[status]}`;
  tellRefusal(() => ({ stage: "request", listener, remoteAddress, reason }));
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
