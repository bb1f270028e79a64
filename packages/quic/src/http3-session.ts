import { ClientRequest } from "./client-request.js";
import { type ConnectOptions, dial } from "./dial.js";
import type { Engine } from "./engine.js";
import { invalidOption } from "./errors.js";
import { handleIndex } from "./handles.js";
import { unwrap } from "./native.js";
import { checkOptionNames, HTTP_REQUEST_OPTIONS } from "./option-names.js";
import type { QuicSession } from "./session.js";
import type { CloseInfo } from "./session-handler.js";
import { H3_NO_ERROR, HTTP3_ALPN, parseUrl } from "./web-transport-dial.js";
import { encodeFields, type HeaderFields } from "./web-transport-request.js";

/** Options of `connectHttp3`. */
export type Http3ConnectOptions = Omit<ConnectOptions, "host" | "port" | "alpn" | "earlyData">;

/** Options of `Http3Session.request`: a plain HTTP/3 request to send. */
export interface HttpRequestInit {
  /** HTTP method. CONNECT is not supported. Default "GET". */
  method?: string;
  /** Path and query of the request in ASCII, starting with "/", or "*" with OPTIONS. */
  path: string;
  /** Host and port to request. Default: those of the session's URL. */
  authority?: string;
  /** Header fields of the request. Default: none. */
  headers?: HeaderFields;
  /** True if the request has neither a body nor trailers. Otherwise end it with `end` or `write`. Default false. */
  end?: boolean;
}

/** A client's HTTP/3 connection for plain requests (RFC 9114), created by `connectHttp3`. */
export class Http3Session {
  /** The QUIC connection that carries the requests. */
  readonly connection: Pick<QuicSession, "remoteAddress" | "localAddress" | "peerCertificate" | "stats">;
  readonly #session: QuicSession;
  readonly #authority: string;
  #unfinished = 0;

  /** @internal */
  constructor(session: QuicSession, authority: string) {
    this.connection = session;
    this.#session = session;
    this.#authority = authority;
    session.attach({ onStream() {}, onClosed() {}, waits: () => this.#unfinished > 0 });
  }

  /** Resolves when either side has closed the connection. Rejects when the connection is lost. */
  get closed(): Promise<CloseInfo> {
    return this.#session.closed;
  }

  /**
   * Resolves when the server accepts no more requests on this connection (GOAWAY). Requests that the server has not
   * processed end with `streamErrorCode` 0x10b (H3_REQUEST_REJECTED); the others continue.
   */
  get draining(): Promise<undefined> {
    return this.#session.draining;
  }

  /**
   * Sends a request. If the server's stream limit is reached, the request waits. Throws `QuicError` if the request
   * cannot be sent or the connection has ended, and with `ERR_QUIC_SESSION_UNAVAILABLE` after GOAWAY. The length in
   * `content-length` is not checked; servers reset a request whose body has another length.
   */
  request(init: HttpRequestInit): ClientRequest {
    checkOptionNames("request()", init, HTTP_REQUEST_OPTIONS);
    const { method = "GET", path, authority = this.#authority, headers, end = false } = init;
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method) || method === "CONNECT") {
      throw invalidOption(`the method ${JSON.stringify(method)} cannot be sent`);
    }
    if (!(/^\/[\x21-\x7e]*$/.test(path) || (path === "*" && method === "OPTIONS"))) {
      throw invalidOption(`path must begin with / and consist of printable ASCII, not ${JSON.stringify(path)}`);
    }
    if (!/^[\x21-\x7e]+$/.test(authority)) {
      throw invalidOption(`authority must be a host and port in printable ASCII, not ${JSON.stringify(authority)}`);
    }
    const { engine, handle } = this.#session;
    engine.kick();
    const stream = unwrap(engine.native.sendRequest(handle, method, authority, path, encodeFields(headers), end));
    const request = new ClientRequest(engine, stream, false);
    engine.streams[handleIndex(stream)] = request;
    this.#unfinished++;
    const onEnd = (): void => void this.#unfinished--;
    request.trailers.then(onEnd, onEnd);
    return request;
  }

  /** Closes the connection at once (H3_NO_ERROR). Requests in progress fail. */
  close(): void {
    this.#session.close({ closeCode: H3_NO_ERROR });
  }
}

/** Connects to the HTTP/3 server of `url`. The URL must have no path and no query. */
export async function dialHttp3(
  engine: Engine,
  url: string | URL,
  options: Http3ConnectOptions,
): Promise<Http3Session> {
  const { host, port, authority, path } = parseUrl(url);
  if (path !== "/") throw invalidOption(`the URL must not have a path or query, but each request has one: ${path}`);
  // A server opens no WebTransport sessions. This number only tells the engine that the connection uses HTTP/3.
  return new Http3Session(await dial(engine, { ...options, host, port, alpn: [HTTP3_ALPN] }, 1), authority);
}
