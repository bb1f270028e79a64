import { ClientRequest } from "./client-request.js";
import { type ConnectOptions, dial } from "./dial.js";
import type { Engine } from "./engine.js";
import { invalidOption } from "./errors.js";
import { handleIndex } from "./handles.js";
import { unwrap } from "./native.js";
import { checkOptionNames, HTTP_REQUEST_OPTIONS } from "./option-names.js";
import type { CloseInfo, QuicSession } from "./session.js";
import { H3_NO_ERROR, HTTP3_ALPN, parseUrl } from "./web-transport-dial.js";
import { encodeFields, type HeaderFields } from "./web-transport-request.js";

/** Options of `connectHttp3`. */
export type Http3ConnectOptions = Omit<ConnectOptions, "host" | "port" | "alpn" | "earlyData">;

/** A plain HTTP/3 request to send. */
export interface HttpRequestInit {
  /** Default "GET". CONNECT is not supported. */
  method?: string;
  /** Path and query, starting with "/", in ASCII, or "*" with OPTIONS. */
  path: string;
  /** Host and port that are requested. Default: those of the session's URL. */
  authority?: string;
  /** Header fields. Default: none. */
  headers?: HeaderFields;
  /** Whether the request has neither body nor trailers. Default false: end it with `end` or `write`. */
  end?: boolean;
}

/** A client's HTTP/3 connection for plain requests (RFC 9114), made by `connectHttp3`. */
export class Http3Session {
  /** The QUIC connection. */
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

  /** Fulfils when either side has closed the connection, and rejects when it is lost. */
  get closed(): Promise<CloseInfo> {
    return this.#session.closed;
  }

  /**
   * Fulfils when the server accepts no more requests on this connection (GOAWAY). Requests that it has not processed end
   * with `streamErrorCode` 0x10b (H3_REQUEST_REJECTED); the others continue.
   */
  get draining(): Promise<undefined> {
    return this.#session.draining;
  }

  /**
   * Sends a request. Beyond the server's stream limit it waits. Throws `QuicError` for a request that cannot be sent,
   * with `ERR_QUIC_SESSION_UNAVAILABLE` after GOAWAY, or if the connection has ended. A body that does not have the
   * length in `content-length` is sent; servers then reset the request.
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

/** Connects to the server of `url`, which has no path and no query. */
export async function dialHttp3(
  engine: Engine,
  url: string | URL,
  options: Http3ConnectOptions,
): Promise<Http3Session> {
  const { host, port, authority, path } = parseUrl(url);
  if (path !== "/") throw invalidOption(`the URL must not have a path or query, but each request has one: ${path}`);
  // A server opens no WebTransport sessions; this only says that the connection speaks HTTP/3.
  return new Http3Session(await dial(engine, { ...options, host, port, alpn: [HTTP3_ALPN] }, 1), authority);
}
