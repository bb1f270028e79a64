import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";

/** Requests at once of one connection. */
const MAX_STREAMS = 128;
/** Bytes of the header fields of one request. */
const MAX_HEADER_BYTES = 16_384;
/** Milliseconds without a request after which a connection is closed. */
const IDLE_MS = 120_000;

/** Receives requests: `stream`, if there is one, else `request`. */
export interface Http2Requests {
  readonly stream:
    | ((socket: Socket, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => void)
    | undefined;
  readonly request: (socket: Socket, request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** HTTP/2 for the connections of a TLS port whose clients chose it. */
export class Http2Connections {
  private readonly server: Http2Server;
  private readonly sessions: Map<ServerHttp2Session, Socket> = new Map();

  /**
   * @param maxFields header fields of a request
   * @param on receives requests as streams, or in the shape of HTTP/1.1, which costs more
   */
  constructor(maxFields: number, on: Http2Requests) {
    this.server = createServer({
      maxHeaderListPairs: maxFields,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES },
    });
    // A connection that breaks the protocol is closed; that is all.
    this.server.on("sessionError", () => {});
    const socketOf = ({ session }: ServerHttp2Stream): Socket | undefined =>
      session && this.sessions.get(session as ServerHttp2Session);
    const { stream: onStream, request: onRequest } = on;
    if (onStream !== undefined) {
      const take = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _: number, rawHeaders: string[]): void => {
        const socket = socketOf(stream);
        if (socket !== undefined) onStream(socket, stream, headers, rawHeaders);
      };
      // The last argument is one that the types of Node 20 leave out.
      this.server.on("stream", take as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void);
      return;
    }
    this.server.on("request", (request, response) => {
      const socket = socketOf(request.stream);
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
