import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import {
  constants,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { WEBTRANSPORT_STREAM_PROTOCOL } from "@quicrpc/core/transport";
import {
  type AcceptedSocket,
  divert,
  firstCertificate,
  type HeldReads,
  holdReads,
  listenWeb,
  type WebAcceptor,
  type WebProtocol,
} from "@quicrpc/node/internal";
import type { ListenTransport } from "@quicrpc/node/transport";
import { containReads, pingWhileAlive, resetLater } from "./containment.js";
import { FAILS_STREAMS, FAILS_WINDOWS, loadFails, unsupportedVersion } from "./package.js";
import { FailsRequests } from "./requests.js";

const MAX_STREAMS = 100;

/**
 * Accepts WebTransport sessions over HTTP/2, and over the WebSocket of the package's ponyfill, on connections that a
 * listener of this package has accepted. The server of `@fails-components/webtransport` itself never listens, because
 * it supports only one certificate, no client certificates and no limits.
 */
class FailsAcceptor implements WebAcceptor {
  readonly alpn: string = "h2";
  private readonly http2: Http2SecureServer;
  private readonly requests: FailsRequests;
  /** The connection whose HTTP/2 session is being created. Undefined otherwise. */
  private connecting: { readonly socket: TLSSocket; readonly accepted: AcceptedSocket } | undefined = undefined;

  private constructor(http2: Http2SecureServer, requests: FailsRequests) {
    this.http2 = http2;
    this.requests = requests;
    http2.prependListener("session", (session: ServerHttp2Session) => this.watchSession(session));
    sendWebSocketsToHttp1(http2);
  }

  /** @param url returns the listener's URL once it listens */
  static async create(...[path, settings, limiter, url, onIncoming]: Parameters<WebProtocol>): Promise<FailsAcceptor> {
    const { Http2Server } = await loadFails();
    const { cert, key: privKey } = firstCertificate(settings);
    const secret = randomBytes(16).toString("hex");
    const server = new Http2Server({ ...FAILS_WINDOWS, ...FAILS_STREAMS, port: 0, secret, cert, privKey });
    await server.createTransportInt();
    const http2 = server.transportInt?.serverInt;
    if (http2 === undefined) throw unsupportedVersion();
    const requests = new FailsRequests(server, path, settings, limiter, url, onIncoming);
    return new FailsAcceptor(http2, requests);
  }

  takeConnection(socket: TLSSocket, accepted: AcceptedSocket): void {
    this.connecting = { socket, accepted };
    this.http2.emit("secureConnection", socket);
    this.connecting = undefined;
  }

  asks({ headers }: IncomingMessage): boolean {
    return isPonyfill(headers["sec-websocket-protocol"]);
  }

  /** Returns the HTTP status with which to refuse an upgrade request of the ponyfill, or undefined to accept it. */
  refusal({ url, headers }: IncomingMessage): number | undefined {
    // The ponyfill doubles the first slash.
    return this.requests.refusal({ ...headers, ":path": url?.replace(/^\/+/, "/") });
  }

  takeUpgrade(request: IncomingMessage, head: Buffer, accepted: AcceptedSocket): void {
    const socket = request.socket as TLSSocket;
    // The package would read it before it is able to.
    if (head.length > 0) socket.unshift(head);
    containReads(socket);
    const hold = (): HeldReads => holdReads(socket);
    this.requests.source = { transport: "webtransport-websocket", socket, accepted, holder: socket, hold };
    this.http2.emit("upgrade", request, socket, Buffer.alloc(0));
  }

  stop(): void {
    this.requests.stop();
  }

  private watchSession(session: ServerHttp2Session): void {
    const { connecting } = this;
    if (connecting === undefined) return;
    pingWhileAlive(session);
    let streams = 0;
    session.prependListener("stream", (stream: ServerHttp2Stream, header: IncomingHttpHeaders) => {
      stream.once("close", () => streams--);
      // The package announces no limit of its own.
      if (++streams > MAX_STREAMS) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      if (header[":method"] !== "CONNECT") return;
      containReads(stream);
      resetLater(stream);
      const hold = (): HeldReads => holdReads(stream);
      this.requests.source = { transport: kindOf(header), ...connecting, holder: stream, hold };
    });
  }
}

/** Starts to accept HTTP/2 and ponyfill connections on a TCP port. */
export const failsProtocol: WebProtocol = (...args) => FailsAcceptor.create(...args);

/**
 * Listens on `https://` over TCP: for HTTP/2 and, if the option `webSocket` is set, for the WebSocket of the ponyfill.
 */
export const listenFails: ListenTransport = async (target, settings, onIncoming) => {
  const listen = listenWeb({ webSocket: settings.web.webSocket, protocols: [failsProtocol] });
  return [await listen(target, settings, onIncoming)];
};

function isPonyfill(offered: string | undefined): boolean {
  const names = offered?.split(",") ?? [];
  return names.some((name) => /^webtransport_[^_]+_(.*)$/.exec(name.trim())?.[1] === WEBTRANSPORT_STREAM_PROTOCOL);
}

/**
 * Handles WebSocket requests on an HTTP/2 connection (RFC 8441). Requests of the ponyfill stay on the connection.
 * Others are answered with HTTP_1_1_REQUIRED, after which the browser retries over HTTP/1.1 (RFC 9113 §7).
 */
function sendWebSocketsToHttp1(http2: Http2SecureServer): void {
  divert(http2, "stream", (_, stream: ServerHttp2Stream, header: IncomingHttpHeaders) => {
    if (!isWebSocket(header) || isPonyfill(header["sec-websocket-protocol"])) return false;
    stream.on("error", () => {}).close(constants.NGHTTP2_HTTP_1_1_REQUIRED);
    return true;
  });
}

function isWebSocket(header: IncomingHttpHeaders): boolean {
  return header[":protocol"] === "websocket";
}

function kindOf(header: IncomingHttpHeaders): "webtransport-http2" | "webtransport-websocket" {
  return isWebSocket(header) ? "webtransport-websocket" : "webtransport-http2";
}
