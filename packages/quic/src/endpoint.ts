import { addressOf, type BindOptions, engineOptions, portOf } from "./bind-options.js";
import { type ConnectOptions, dial } from "./dial.js";
import { Engine } from "./engine.js";
import { invalidOption, QuicError } from "./errors.js";
import type { HttpRequest } from "./http-request.js";
import { dialHttp3, type Http3ConnectOptions, type Http3Session } from "./http3-session.js";
import { DEFAULT_WEB_TRANSPORT_SESSIONS, type ListenTransportOptions, transportNumbers } from "./limits.js";
import { unwrap } from "./native.js";
import {
  BIND_OPTIONS,
  checkOptionNames,
  CONNECT_OPTIONS,
  HTTP3_OPTIONS,
  LISTEN_OPTIONS,
  REBIND_OPTIONS,
  SERVER_TLS_OPTIONS,
  WEB_TRANSPORT_OPTIONS,
} from "./option-names.js";
import { encodeReason, type QuicSession } from "./session.js";
import type { CloseInfo, SocketAddress } from "./session-handler.js";
import { type EndpointStats, endpointStats } from "./stats.js";
import { encodeServerTls, type ServerTlsOptions } from "./tls-options.js";
import { dialWebTransport, HTTP3_ALPN, type WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportResponse, WebTransportRequest } from "./web-transport-request.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** Options for accepting WebTransport over HTTP/3 on an endpoint's port. */
export interface WebTransportListenOptions {
  /**
   * Accepts or refuses a request for a session; may be asynchronous. If it throws, the request is answered with status
   * 500. Default: accepts every request, with the first of the client's subprotocols that is in `protocols`.
   */
  onRequest?: (request: WebTransportRequest) => WebTransportResponse | Promise<WebTransportResponse>;
  /** Subprotocols that the default `onRequest` accepts. */
  protocols?: readonly string[];
  /** Maximum number of sessions on one connection. Requests that wait for `onRequest` count as well. Default 16. */
  maxSessionsPerConnection?: number;
}

/** Options of `Endpoint.listen`. */
export interface ListenOptions extends ServerTlsOptions {
  /**
   * Protocols that the endpoint accepts as QUIC connections without HTTP/3, in order of preference (RFC 7301). At least
   * one is required if `webTransport` is not set. Default: none.
   */
  alpn?: string[];
  /**
   * Also accepts WebTransport over HTTP/3 (ALPN `h3`). `onSession` receives these sessions as `WebTransportSession`.
   * Default: not accepted.
   */
  webTransport?: WebTransportListenOptions;
  /**
   * Receives plain HTTP/3 requests. Requires `webTransport`. A connection counts as a session from its first request
   * on. Default: such requests are answered with status 404.
   */
  onHttpRequest?: (request: HttpRequest) => void;
  /** Timeouts, windows and limits of the connections (docs/limits.md). Default: `DEFAULT_TRANSPORT`. */
  transport?: ListenTransportOptions;
  /**
   * Whether connections become sessions automatically. With "manual", the application must call `session.admit()`.
   * Until then the connection counts as a handshake, its peer may send 64 KiB and open 16 streams of each kind, and no
   * data is delivered. Default "automatic".
   */
  admission?: "automatic" | "manual";
  /**
   * Called for each client whose TLS handshake failed, for example without a common protocol, or because one side
   * refused the other's certificate. Default: none.
   */
  onHandshakeError?: (error: QuicError) => void;
}

/** A UDP socket for QUIC, which can accept sessions and connect to servers. */
export class Endpoint {
  readonly driver: "loop" | "thread";
  readonly #engine: Engine;
  #listening = false;
  #alpn: readonly string[] = [];
  #sessions = 0;
  #wantsRef = true;
  #referenced = false;
  #closing = false;
  #open = true;
  readonly #closed: Promise<void>;
  #settleClosed!: () => void;

  private constructor(engine: Engine) {
    this.#engine = engine;
    this.driver = engine.threaded ? "thread" : "loop";
    this.#closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    engine.onSessionCount = (count) => {
      this.#sessions = count;
      this.#updateRef();
    };
    engine.onClosed = () => {
      this.#open = false;
      this.#closing = true;
      this.#settleClosed();
    };
  }

  /** Binds a UDP socket. Throws `QuicError` with the system's code, such as `EADDRINUSE`. */
  static bind(options: BindOptions = {}): Endpoint {
    checkOptionNames("Endpoint.bind()", options, BIND_OPTIONS);
    const engine = new Engine(engineOptions(options));
    engine.onError = options.onError;
    return new Endpoint(engine);
  }

  /** Address to which the UDP socket is bound. */
  get address(): SocketAddress {
    return this.#engine.address;
  }

  /** True if the endpoint accepts sessions. */
  get listening(): boolean {
    return this.#listening;
  }

  /** True if the endpoint cannot be used any more, because `close` was called or the native engine failed. */
  get closed(): boolean {
    return this.#closing;
  }

  /** Starts accepting sessions. Calls `onSession` with each session whose handshake is complete. */
  listen(options: ListenOptions, onSession: (session: QuicSession) => void): void {
    this.#assertOpen();
    if (this.#listening) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_LISTENING", message: "the endpoint already listens" });
    }
    checkOptionNames("Endpoint.listen()", options, LISTEN_OPTIONS);
    const { alpn = [], webTransport, onHttpRequest } = options;
    if (onHttpRequest !== undefined && webTransport === undefined) {
      throw invalidOption("onHttpRequest requires webTransport, which enables HTTP/3");
    }
    const names = webTransport === undefined || alpn.includes(HTTP3_ALPN) ? alpn : [...alpn, HTTP3_ALPN];
    const tls = encodeServerTls(names, options);
    const sessions = webTransport === undefined ? 0 : checkedSessions(webTransport.maxSessionsPerConnection);
    const settings = transportNumbers(options.transport, {
      webTransportSessions: sessions,
      manualAdmission: options.admission === "manual" ? 1 : 0,
      plainRequests: onHttpRequest === undefined ? 0 : 1,
    });
    unwrap(this.#engine.native.listen(tls, settings));
    this.#engine.onHttpRequest = onHttpRequest;
    this.#alpn = names;
    if (webTransport !== undefined) {
      this.#engine.webTransports.onRequest = webTransport.onRequest ?? firstOf(webTransport.protocols);
    }
    this.#engine.onHandshakeError = options.onHandshakeError;
    this.#listening = true;
    this.#engine.onSession = onSession;
    this.#updateRef();
  }

  /** Replaces the certificates for handshakes that start from now on. Existing sessions continue. */
  updateTls(options: ServerTlsOptions): void {
    this.#assertOpen();
    if (!this.#listening) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_NOT_LISTENING", message: "the endpoint does not listen" });
    }
    checkOptionNames("Endpoint.updateTls()", options, SERVER_TLS_OPTIONS);
    unwrap(this.#engine.native.updateTls(encodeServerTls(this.#alpn, options)));
  }

  /**
   * Replaces the endpoint's UDP socket, for example after the device changed networks. Sessions of `connect` continue.
   * `host` must have the same address family. Throws if the endpoint listens, because only clients may migrate (RFC
   * 9000 §9).
   */
  rebind(options: { host?: string; port?: number } = {}): void {
    this.#assertOpen();
    if (this.#listening) {
      const message = "a listening endpoint cannot rebind: QUIC lets only clients change their address";
      throw new QuicError({ source: "usage", code: "ERR_QUIC_LISTENING", message });
    }
    checkOptionNames("Endpoint.rebind()", options, REBIND_OPTIONS);
    this.#engine.rebind(addressOf(options.host), portOf(options.port));
  }

  /** Connects to a server from this endpoint's socket. Tries every address of the host. */
  async connect(options: ConnectOptions): Promise<QuicSession> {
    this.#assertOpen();
    checkOptionNames("connect()", options, CONNECT_OPTIONS);
    return dial(this.#engine, options);
  }

  /** Connects to the HTTP/3 server of `url` (`https://host:port`) from this endpoint's socket, for plain requests. */
  async connectHttp3(url: string | URL, options: Http3ConnectOptions = {}): Promise<Http3Session> {
    this.#assertOpen();
    checkOptionNames("connectHttp3()", options, HTTP3_OPTIONS);
    return dialHttp3(this.#engine, url, options);
  }

  /**
   * Opens a WebTransport session at `url` (`https://host:port/path`) from this endpoint's socket. Rejects with a
   * `QuicError`. If the server refused, `status` is the HTTP status.
   */
  async connectWebTransport(url: string | URL, options: WebTransportConnectOptions = {}): Promise<WebTransportSession> {
    this.#assertOpen();
    checkOptionNames("connectWebTransport()", options, WEB_TRANSPORT_OPTIONS);
    return dialWebTransport(this.#engine, url, options);
  }

  /**
   * Prepares to shut down. Refuses new connections during their handshake (`ERR_QUIC_REFUSED` at the client), and
   * accepts no more WebTransport sessions on existing connections (GOAWAY, RFC 9114 §5.2). At the clients, `draining`
   * of the sessions resolves. Existing sessions continue.
   */
  drain(): void {
    if (!this.#closing) this.#engine.drain();
  }

  stats(): EndpointStats {
    return endpointStats(this.#sessions, this.#engine.native.endpointStats());
  }

  /**
   * Closes every session (CONNECTION_CLOSE), and then the socket. Resolves when the socket is closed. This takes up to
   * 260 ms if streams of browsers have just ended, because Chromium crashes if a session ends right after its streams.
   */
  close(info: CloseInfo = {}): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      this.#listening = false;
      this.#engine.close(info.closeCode ?? 0, encodeReason(info.reason));
    }
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Keeps the process running while the endpoint listens or has sessions, which is the default. */
  ref(): this {
    this.#wantsRef = true;
    this.#updateRef();
    return this;
  }

  /** Lets the process exit although the endpoint listens or has sessions. */
  unref(): this {
    this.#wantsRef = false;
    this.#updateRef();
    return this;
  }

  #updateRef(): void {
    const shouldRef = this.#open && this.#wantsRef && (this.#listening || this.#sessions > 0);
    if (shouldRef === this.#referenced) return;
    this.#referenced = shouldRef;
    this.#engine.native.setRef(shouldRef);
  }

  #assertOpen(): void {
    if (this.#closing) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_CLOSED", message: "the endpoint has closed" });
    }
  }
}

function checkedSessions(sessions = DEFAULT_WEB_TRANSPORT_SESSIONS): number {
  if (Number.isInteger(sessions) && sessions >= 1 && sessions <= 2 ** 16) return sessions;
  throw invalidOption(`webTransport.maxSessionsPerConnection must be an integer from 1 to 65536, not ${sessions}`);
}

/**
 * Returns the default `onRequest`. It accepts every request, with the first of the client's subprotocols that is in
 * `protocols`.
 */
function firstOf(protocols: readonly string[] = []): (request: WebTransportRequest) => WebTransportResponse {
  return (request) => {
    const protocol = request.protocols.find((name) => protocols.includes(name));
    return protocol === undefined ? {} : { protocol };
  };
}
