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
import { HTTP_IDLE_MS } from "./http-requests.js";

/** Maximum number of concurrent requests on one connection. */
const MAX_STREAMS = 128;
const MAX_HEADER_BYTES = 16_384;

/** Handlers of HTTP/2 requests. `stream` handles the requests if it is defined, otherwise `request`. */
export interface Http2Requests {
  readonly stream:
    | ((socket: Socket, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => void)
    | undefined;
  readonly request: (socket: Socket, request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** HTTP/2 on connections of a TLS port whose clients negotiated HTTP/2. */
export class Http2Connections {
  private readonly server: Http2Server;
  private readonly sessions: Map<ServerHttp2Session, Socket> = new Map();

  /**
   * @param maxFields maximum number of header fields in a request
   * @param handlers receive requests as streams, or as HTTP/1.1 requests, which costs more
   */
  constructor(maxFields: number, handlers: Http2Requests) {
    this.server = createServer({
      maxHeaderListPairs: maxFields,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES },
    });
    // The server closes a connection that violates the protocol. Nothing else has to be done.
    this.server.on("sessionError", () => {});
    const socketOf = ({ session }: ServerHttp2Stream): Socket | undefined =>
      session && this.sessions.get(session as ServerHttp2Session);
    const { stream: onStream, request: onRequest } = handlers;
    if (onStream !== undefined) {
      const onStreamOfSession = (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _: number,
        rawHeaders: string[],
      ): void => {
        const socket = socketOf(stream);
        if (socket !== undefined) onStream(socket, stream, headers, rawHeaders);
      };
      // The types of Node 20 do not contain the last argument.
      this.server.on("stream", onStreamOfSession as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void);
      return;
    }
    this.server.on("request", (request, response) => {
      const socket = socketOf(request.stream);
      if (socket !== undefined) onRequest(socket, request, response);
    });
  }

  /** Takes over a connection after its TLS handshake. */
  adopt(socket: Socket): void {
    this.server.once("session", (session) => {
      this.sessions.set(session, socket);
      session.once("close", () => this.sessions.delete(session));
      session.setTimeout(HTTP_IDLE_MS, () => session.close());
    });
    this.server.emit("connection", socket);
  }

  /** Stops accepting requests. Requests in progress continue. */
  stop(): void {
    for (const session of this.sessions.keys()) session.close();
  }
}
