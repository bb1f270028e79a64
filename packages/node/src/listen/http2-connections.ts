import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";

/** Requests at once of one connection. */
const MAX_STREAMS = 128;
/** Bytes of the header fields of one request. */
const MAX_HEADER_BYTES = 16_384;
/** Milliseconds without a request after which a connection is closed. */
const IDLE_MS = 120_000;

/** HTTP/2 for the connections of a TLS port whose clients chose it. */
export class Http2Connections {
  private readonly server: Http2Server;
  private readonly sessions: Map<ServerHttp2Session, Socket> = new Map();

  /** @param maxFields header fields of a request */
  constructor(
    maxFields: number,
    onRequest: (socket: Socket, request: Http2ServerRequest, response: Http2ServerResponse) => void,
  ) {
    this.server = createServer({
      maxHeaderListPairs: maxFields,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES },
    });
    // A connection that breaks the protocol is closed; that is all.
    this.server.on("sessionError", () => {});
    this.server.on("request", (request, response) => {
      const socket = request.stream.session && this.sessions.get(request.stream.session as ServerHttp2Session);
      if (socket !== undefined) onRequest(socket, request, response);
    });
  }

  /** Takes a connection whose TLS handshake is complete. */
  take(socket: Socket): void {
    this.server.once("session", (session) => {
      this.sessions.set(session, socket);
      session.once("close", () => this.sessions.delete(session));
      session.setTimeout(IDLE_MS, () => session.close());
    });
    this.server.emit("connection", socket);
  }

  /** Takes no more requests; those in progress go on. */
  stop(): void {
    for (const session of this.sessions.keys()) session.close();
  }
}
