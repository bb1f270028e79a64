/**
 * Error codes of this package, each with the place where it arises. docs/error-codes.md lists them.
 */
export interface QuicErrorCodes {
  /**
   * There is no engine for this platform, it was not installed, or it cannot be loaded. `cause` says which.
   *
   * Use `wss://` or `tls://`, which need no engine, or install one (docs/platforms.md).
   */
  readonly ERR_QUIC_NATIVE_MISSING: "system";
  /** An option or argument cannot be used. The message names it. */
  readonly ERR_QUIC_INVALID_OPTION: "usage";
  /** `attach` was called on a session or stream that has a handler. */
  readonly ERR_QUIC_ATTACHED: "usage";
  /** `listen` was called on an endpoint that listens. */
  readonly ERR_QUIC_LISTENING: "usage";
  /** `updateTls` was called on an endpoint that does not listen. */
  readonly ERR_QUIC_NOT_LISTENING: "usage";
  /**
   * `exportKeyingMaterial` was called before the handshake was complete or after the session had ended, or with an
   * invalid label, context or length.
   */
  readonly ERR_QUIC_NO_KEYING_MATERIAL: "usage";
  /** This side has closed the session, or the endpoint. */
  readonly ERR_QUIC_CLOSED: "session" | "usage";
  /** The peer has closed the session, with `closeCode` and `reason`. */
  readonly ERR_QUIC_CLOSED_BY_PEER: "session";
  /**
   * Nothing arrived from the peer for `idleTimeoutMs`, 30 s by default.
   *
   * Check the network. Sessions of `connect` and `dial` ping a silent server, unless `keepAlive` is false.
   */
  readonly ERR_QUIC_IDLE_TIMEOUT: "session";
  /**
   * The session had ended while the application was not waiting for anything on it: after its idle timeout, or because the
   * server restarted. The server has processed nothing that was sent since then.
   *
   * Open another session. A connection repeats the calls by itself.
   */
  readonly ERR_QUIC_LOST_WHILE_IDLE: "session";
  /**
   * There was no response: no server runs there, or the network blocks UDP.
   *
   * A `fallback` connects over TCP if UDP is blocked (docs/connecting.md).
   */
  readonly ERR_QUIC_HANDSHAKE_TIMEOUT: "session";
  /**
   * The server did not accept the early data of a stream, and processed none of it.
   *
   * Open the stream again. Calls are repeated automatically.
   */
  readonly ERR_QUIC_EARLY_DATA_REJECTED: "session";
  /** The server is full or drains. It processed nothing of the session. */
  readonly ERR_QUIC_REFUSED: "session";
  /**
   * A QUIC transport error (RFC 9000 §20.1), a stateless reset, or no common version. The message contains the number.
   */
  readonly ERR_QUIC_TRANSPORT: "session";
  /**
   * The server refused the WebTransport session with the HTTP status `status`.
   *
   * The table of statuses below says what to do.
   */
  readonly ERR_QUIC_SESSION_REJECTED: "session";
  /**
   * The server does not offer WebTransport, or accepts no more sessions or requests on this connection (GOAWAY). It
   * processed nothing.
   *
   * A connection retries by itself.
   */
  readonly ERR_QUIC_SESSION_UNAVAILABLE: "session";
  /** The stream of a WebTransport session was reset. */
  readonly ERR_QUIC_SESSION_GONE: "session";
  /** The peer violated HTTP/3. The connection was closed with the code in the message. */
  readonly ERR_QUIC_HTTP3: "session";
  /**
   * The engine failed and closed its endpoint.
   *
   * Report it, with what it wrote to stderr.
   */
  readonly ERR_QUIC_INTERNAL: "session";
  /** The server's certificate does not match `serverCertificateHashes`. */
  readonly ERR_QUIC_CERTIFICATE_HASH_MISMATCH: "tls";
  /** The server's certificate does not lead to a trusted root. */
  readonly ERR_QUIC_CERTIFICATE_UNTRUSTED: "tls";
  /** The server's certificate is for another name. */
  readonly ERR_QUIC_CERTIFICATE_NAME: "tls";
  /** The server's certificate has expired, or is not valid yet. */
  readonly ERR_QUIC_CERTIFICATE_EXPIRED: "tls";
  /**
   * The certificate is pinned by its hash, but is not an ECDSA P-256 certificate that is valid for at most 14 days.
   *
   * `devCertificate()` makes such certificates.
   */
  readonly ERR_QUIC_CERTIFICATE_UNSUITABLE: "tls";
  /** The server requires a client certificate and got none. Both sides have this code. */
  readonly ERR_QUIC_CERTIFICATE_REQUIRED: "tls";
  /** The peer rejected this side's certificate. The message names the TLS alert. */
  readonly ERR_QUIC_CERTIFICATE_REJECTED: "tls";
  /** The two sides have no ALPN protocol in common: another service listens on this port. */
  readonly ERR_QUIC_ALPN_MISMATCH: "tls";
  /** Any other TLS alert. The message contains its number. */
  readonly ERR_QUIC_TLS: "tls";
  /** The peer reset its side of a stream, with `streamErrorCode`. */
  readonly ERR_QUIC_RESET: "stream";
  /** The peer stopped reading a stream, with `streamErrorCode`. */
  readonly ERR_QUIC_STOP_SENDING: "stream";
  /** A `WebTransportError` that the application created. */
  readonly ERR_WEBTRANSPORT: "stream";
}

/** One of this package's error codes. */
export type QuicErrorCode = keyof QuicErrorCodes;
