import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import {
  divert,
  listeningPlaceOf,
  type AcceptedSocket,
  AcceptedSockets,
  socketListener,
  startServer,
} from "./socket-server.js";
import { ConnectionLimiter, connectionLimits } from "./connection-limiter.js";
import type { Listen } from "./with-tcp.js";
import {
  type AnyRequest,
  type AnyResponse,
  HTTP_IDLE_MS,
  MAX_HEADER_FIELDS,
  NO_ROOM_BODY,
  NO_ROOM_FIELDS,
} from "./http-requests.js";
import type { Http2Requests } from "./http2-connections.js";
import type { Listener, WebOffer } from "./listener.js";
import { ServerTls } from "./tls-settings.js";
import { reportRefusal } from "../refusals.js";
import { VERSION_FIELDS } from "../web-socket/handshake.js";
import { WebSocketUpgrades } from "./web-socket.js";
import { WithoutUpgrade } from "./without-upgrade.js";

/** Seconds for which clients may remember that the server is also available over HTTP/3 (`ma` of `Alt-Svc`). */
const ALTERNATIVE_SECONDS = 86_400;

export const listenWs: Listen = (...args) =>
  listen("ws", { webSocket: true, protocols: [], http: args[1].web.http }, ...args);

/** Listens for `http://`: plain HTTP only, without encryption. */
export const listenHttp: Listen = (...args) =>
  listen("http", { webSocket: false, protocols: [], http: args[1].web.http }, ...args);

export const listenWss: Listen = (...args) =>
  listen("wss", { webSocket: true, protocols: [], http: args[1].web.http }, ...args);

/**
 * Returns a function that listens on one TLS port for all offered protocols. Clients select a protocol in the TLS
 * handshake (RFC 7301).
 */
export function listenWeb(offer: WebOffer): Listen {
  return (...args) => listen(offer.webSocket ? "wss" : "https", offer, ...args);
}

const listen = async (
  scheme: "ws" | "http" | "wss" | "https",
  offer: WebOffer,
  ...[target, settings, onIncoming]: Parameters<Listen>
): Promise<Listener> => {
  const { host, port, path: urlPath, sharesPortWithHttp3 = false } = target;
  const path = urlPath || "/";
  const secure = scheme === "wss" || scheme === "https";
  const { limits, transport } = settings;
  const limiter = new ConnectionLimiter(connectionLimits(transport, limits));
  const webSockets = offer.webSocket
    ? new WebSocketUpgrades(path, secure ? undefined : (host ?? ""), settings)
    : undefined;
  const acceptors = await Promise.all(
    offer.protocols.map((start) => start(path, settings, limiter, () => acceptedSockets.url, onIncoming)),
  );
  const tls = secure ? new ServerTls(settings) : undefined;
  const onRequest = (socket: Socket, request: AnyRequest, response: AnyResponse): void => {
    const accepted = acceptedSockets.acceptedOf(socket);
    const { rawHeaders } = request;
    // Both kinds of responses have this method, but TypeScript does not infer that.
    const plain = response as ServerResponse;
    if (offer.http === undefined) plain.writeHead(426, { upgrade: "websocket" }).end();
    else if (accepted === undefined) socket.destroy();
    else if (refusalOfFields({ rawHeaders }) !== undefined) plain.writeHead(431, { connection: "close" }).end();
    else if (!secure && isRebound(request)) plain.writeHead(421).end();
    else
      offer.http.serve({ accepted, socket, listener: acceptedSockets.url, alternative }, request, response, settings);
  };
  const onStream: Http2Requests["stream"] = (socket, stream, headers, rawHeaders) => {
    const accepted = acceptedSockets.acceptedOf(socket);
    if (accepted === undefined) socket.destroy();
    else if (refusalOfFields({ rawHeaders }) !== undefined) stream.respond({ ":status": 431 }, { endStream: true });
    else
      offer.http?.takeHttp2(
        { accepted, socket, listener: acceptedSockets.url, alternative },
        stream,
        headers,
        settings,
      );
  };
  // A client behind a proxy may not reach this port number.
  const announces = sharesPortWithHttp3 && settings.trustedProxies === undefined;
  const alternative = announces ? `h3=":${port}"; ma=${ALTERNATIVE_SECONDS}` : undefined;
  const takesHttp2 = secure && offer.http !== undefined && !acceptors.some(({ alpn }) => alpn === "h2");
  const { Http2Connections } = takesHttp2 ? await import("./http2-connections.js") : {};
  const http2 =
    Http2Connections &&
    new Http2Connections(MAX_HEADER_FIELDS, {
      stream: offer.http?.takesStreams === true ? onStream : undefined,
      request: onRequest,
    });
  const secureServer =
    tls &&
    createHttpsServer({
      ...tls.options,
      ALPNProtocols: [...acceptors.map(({ alpn }) => alpn), ...(http2 === undefined ? [] : ["h2"]), "http/1.1"],
    });
  const server = secureServer ?? createServer();
  if (acceptors.length > 0 || http2 !== undefined) {
    // Before the server reads HTTP/1.1 from it.
    divert(server, "secureConnection", (_, socket: TLSSocket) => {
      const acceptor = acceptors.find(({ alpn }) => alpn === socket.alpnProtocol);
      const isHttp2 = acceptor === undefined && http2 !== undefined && socket.alpnProtocol === "h2";
      if (acceptor === undefined && !isHttp2) return false;
      const accepted = acceptedSockets.acceptedOf(socket);
      if (accepted === undefined) socket.destroy();
      else if (acceptor === undefined) http2?.adopt(socket);
      else acceptor.takeConnection(socket, accepted);
      return true;
    });
  }
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.keepAliveTimeout = HTTP_IDLE_MS;
  // Any web page can make its own host name resolve to this machine. Only TLS prevents that.
  const isRebound = ({ headers: { origin, host: authority } }: AnyRequest): boolean =>
    settings.pages.isRebound({ origin, authority, plainHost: host ?? "" });
  const handleRequest = (request: IncomingMessage, response: ServerResponse): void =>
    onRequest(request.socket, request, response);
  server.on("request", handleRequest);
  const plain = offer.http && new WithoutUpgrade(handleRequest);
  server.on("upgrade", (request, _, head) => {
    const accepted = acceptedSockets.acceptedOf(request.socket);
    if (accepted === undefined) {
      request.socket.destroy();
      return;
    }
    const acceptor = acceptors.find((acceptor) => acceptor.asks(request));
    const refusing = acceptor ?? webSockets;
    const refusal = refusalOfFields(request);
    const offersOther = acceptor === undefined && !/\bwebsocket\b/i.test(request.headers.upgrade ?? "");
    const status = refusal ?? (refusing === undefined ? 400 : refusing.refusal(request));
    if (plain !== undefined && offersOther && refusal === undefined) plain.accept(request, request.socket, head);
    else if (status !== undefined) refuse(request, accepted, status, acceptedSockets.url);
    else {
      accepted.pending.requestBegan();
      if (acceptor !== undefined) acceptor.takeUpgrade(request, head, accepted);
      else webSockets?.accept(request, head, accepted, acceptedSockets.url, onIncoming);
    }
  });
  const acceptedSockets = new AcceptedSockets(server, limiter, settings.trustedProxies, secure ? undefined : NO_ROOM);
  await startServer(server, listeningPlaceOf(target));
  const listener = socketListener(server, acceptedSockets, target, (authority) => `${scheme}://${authority}${path}`);
  return {
    ...listener,
    stop: () => {
      for (const acceptor of acceptors) acceptor.stop();
      http2?.stop();
      plain?.stop();
      listener.stop();
    },
    ...(secureServer !== undefined && { updateTls: (settings) => tls?.update(secureServer, settings) }),
  };
};

/** Response to a connection without TLS that exceeds the connection limit. It is sent before any request is read. */
const NO_ROOM = [
  "HTTP/1.1 503 Service Unavailable",
  ...Object.entries({ ...NO_ROOM_FIELDS, connection: "close", "content-length": NO_ROOM_BODY.length }).map(
    ([name, value]) => `${name}: ${value}`,
  ),
  "",
  NO_ROOM_BODY,
].join("\r\n");

function refusalOfFields({ rawHeaders }: { readonly rawHeaders: readonly string[] }): 431 | undefined {
  return rawHeaders.length > 2 * MAX_HEADER_FIELDS ? 431 : undefined;
}

function refuse(
  { socket, url }: IncomingMessage,
  { pending, remoteAddress }: AcceptedSocket,
  status: number,
  listener: string,
): void {
  pending.refuse();
  const reason = `${url}: status ${status} ${STATUS_CODES[status]}`;
  reportRefusal(() => ({ stage: "request", listener, remoteAddress, reason }));
  const versions = status === 426 ? VERSION_FIELDS : "";
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${versions}Connection: close\r\nContent-Length: 0\r\n\r\n`);
}
