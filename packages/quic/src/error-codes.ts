/** Error codes of this package, each with its source. docs/error-codes.md lists the codes. */
export interface QuicErrorCodes {
  /**
   * There is no native engine for this platform, or it is not installed, or it cannot be loaded. `cause` contains the
   * reason.
   *
   * Use `wss://` or `tls://`, which need no engine, or install one (docs/platforms.md).
   */
  readonly ERR_QUIC_NATIVE_MISSING: "system";
  /** An option or argument is invalid. The message names it. */
  readonly ERR_QUIC_INVALID_OPTION: "usage";
  /** `attach` was called on a session or stream that already has a handler. */
  readonly ERR_QUIC_ATTACHED: "usage";
  /** `listen` was called on an endpoint that already listens. */
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
   * The server did not respond: no server runs at the address, or the network blocks UDP.
   *
   * The option `fallback` connects over TCP if UDP is blocked (docs/connecting.md).
   */
  readonly ERR_QUIC_HANDSHAKE_TIMEOUT: "session";
  /**
   * The server did not accept the early data of a stream, and processed none of it.
   *
   * Open the stream again. Calls are repeated automatically.
   */
  readonly ERR_QUIC_EARLY_DATA_REJECTED: "session";
  /**
   * The server refused the session because it has reached a limit or is draining. It processed nothing of the session.
   */
  readonly ERR_QUIC_REFUSED: "session";
  /**
   * A QUIC transport error (RFC 9000 §20.1) occurred, a stateless reset arrived, or both sides have no QUIC version in
   * common. The message contains the error number.
   */
  readonly ERR_QUIC_TRANSPORT: "session";
  /**
   * The server refused the WebTransport session with the HTTP status in `status`.
   *
   * The table of HTTP statuses in docs/error-codes.md says what to do.
   */
  readonly ERR_QUIC_SESSION_REJECTED: "session";
  /**
   * The server does not support WebTransport, or accepts no more sessions or requests on this connection (GOAWAY). The
   * server processed nothing of the session.
   *
   * A connection retries automatically.
   */
  readonly ERR_QUIC_SESSION_UNAVAILABLE: "session";
  /** The HTTP/3 stream of a WebTransport session was reset, so the session has ended. */
  readonly ERR_QUIC_SESSION_GONE: "session";
  /** The peer violated the HTTP/3 protocol. The connection was closed with the error code in the message. */
  readonly ERR_QUIC_HTTP3: "session";
  /**
   * The native engine failed and closed its endpoint.
   *
   * Report the failure, with the engine's output on stderr.
   */
  readonly ERR_QUIC_INTERNAL: "session";
  /** The server's certificate does not match `serverCertificateHashes`. */
  readonly ERR_QUIC_CERTIFICATE_HASH_MISMATCH: "tls";
  /** The server's certificate was not issued by a trusted root certificate. */
  readonly ERR_QUIC_CERTIFICATE_UNTRUSTED: "tls";
  /** The server's certificate is for another host name. */
  readonly ERR_QUIC_CERTIFICATE_NAME: "tls";
  /** The server's certificate has expired, or is not valid yet. */
  readonly ERR_QUIC_CERTIFICATE_EXPIRED: "tls";
  /**
   * The server's certificate matches a hash in `serverCertificateHashes`, but is not an ECDSA P-256 certificate that is
   * valid for at most 14 days.
   *
   * `devCertificate()` creates suitable certificates.
   */
  readonly ERR_QUIC_CERTIFICATE_UNSUITABLE: "tls";
  /** The server requires a client certificate, but the client sent none. Both sides receive this code. */
  readonly ERR_QUIC_CERTIFICATE_REQUIRED: "tls";
  /** The peer rejected this side's certificate. The message contains the TLS alert. */
  readonly ERR_QUIC_CERTIFICATE_REJECTED: "tls";
  /** Client and server have no ALPN protocol in common: another service listens on this port. */
  readonly ERR_QUIC_ALPN_MISMATCH: "tls";
  /** Another TLS error occurred. The message contains the number of the TLS alert. */
  readonly ERR_QUIC_TLS: "tls";
  /** The peer reset its side of a stream, with the code in `streamErrorCode`. */
  readonly ERR_QUIC_RESET: "stream";
  /** The peer stopped reading a stream, with the code in `streamErrorCode`. */
  readonly ERR_QUIC_STOP_SENDING: "stream";
  /** A `WebTransportError` that the application created. */
  readonly ERR_WEBTRANSPORT: "stream";
}

/** One of this package's error codes. */
export type QuicErrorCode = keyof QuicErrorCodes;
