/** Codes of errors that are this package's own, each with where such an error arises. docs/error-codes.md is written from the comments. */
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
  /** `exportKeyingMaterial` was called before the handshake or after the session's end, or its label, context or length cannot be. */
  readonly ERR_QUIC_NO_KEYING_MATERIAL: "usage";
  /** This side has closed the session, or the endpoint. */
  readonly ERR_QUIC_CLOSED: "session" | "usage";
  /** The peer has closed the session, with `closeCode` and `reason`. */
  readonly ERR_QUIC_CLOSED_BY_PEER: "session";
  /**
   * Nothing came from the peer for `idleTimeoutMs`, 30 s unless you say otherwise.
   *
   * Look at the network. Sessions that `connect` and `dial` make ping a silent server, unless `keepAlive` is false.
   */
  readonly ERR_QUIC_IDLE_TIMEOUT: "session";
  /**
   * The session had ended while the application waited for nothing on it: its idle timeout was over, or the server was restarted. The server has
   * processed nothing that was sent since.
   *
   * Open another session. A connection makes the calls again by itself.
   */
  readonly ERR_QUIC_LOST_WHILE_IDLE: "session";
  /**
   * Nothing answered: there is no server, or the network does not let UDP pass.
   *
   * A `fallback` connects by TCP where UDP does not pass (docs/connecting.md).
   */
  readonly ERR_QUIC_HANDSHAKE_TIMEOUT: "session";
  /**
   * The server did not take the early data of a stream. Nothing of it was processed.
   *
   * Open the stream again. Calls are made again without your doing.
   */
  readonly ERR_QUIC_EARLY_DATA_REJECTED: "session";
  /** The server is full, or drains. It has processed nothing of the session. */
  readonly ERR_QUIC_REFUSED: "session";
  /** A transport error of QUIC (RFC 9000 §20.1), a stateless reset, or no version in common. The message has the number. */
  readonly ERR_QUIC_TRANSPORT: "session";
  /**
   * The request for a WebTransport session was refused, with `status`.
   *
   * The table of statuses below says what to do.
   */
  readonly ERR_QUIC_SESSION_REJECTED: "session";
  /**
   * The server offers no WebTransport, or takes no more sessions on this connection (GOAWAY). Nothing was processed.
   *
   * A connection tries again by itself.
   */
  readonly ERR_QUIC_SESSION_UNAVAILABLE: "session";
  /** The stream of a WebTransport session was reset. */
  readonly ERR_QUIC_SESSION_GONE: "session";
  /** The peer broke the rules of HTTP/3, and was told by the code in the message. */
  readonly ERR_QUIC_HTTP3: "session";
  /**
   * The engine failed and has closed its endpoint.
   *
   * Report it, with what it wrote to stderr.
   */
  readonly ERR_QUIC_INTERNAL: "session";
  /** The server has another certificate than `serverCertificateHashes` names. */
  readonly ERR_QUIC_CERTIFICATE_HASH_MISMATCH: "tls";
  /** The server's certificate leads to no root that is trusted. */
  readonly ERR_QUIC_CERTIFICATE_UNTRUSTED: "tls";
  /** The server's certificate is for another name. */
  readonly ERR_QUIC_CERTIFICATE_NAME: "tls";
  /** The server's certificate has run out, or is not valid yet. */
  readonly ERR_QUIC_CERTIFICATE_EXPIRED: "tls";
  /**
   * The certificate is pinned by its hash, and is not an ECDSA P-256 one that is valid for at most 14 days.
   *
   * `devCertificate()` makes such certificates.
   */
  readonly ERR_QUIC_CERTIFICATE_UNSUITABLE: "tls";
  /** The server wants a client certificate and got none. Both sides have this code. */
  readonly ERR_QUIC_CERTIFICATE_REQUIRED: "tls";
  /** The peer does not accept this side's certificate. The message names the TLS alert. */
  readonly ERR_QUIC_CERTIFICATE_REJECTED: "tls";
  /** The two sides have no ALPN protocol in common: something else listens at this port. */
  readonly ERR_QUIC_ALPN_MISMATCH: "tls";
  /** Any other TLS alert. The message has its number. */
  readonly ERR_QUIC_TLS: "tls";
  /** The peer reset its side of a stream, with `streamErrorCode`. */
  readonly ERR_QUIC_RESET: "stream";
  /** The peer stopped reading a stream, with `streamErrorCode`. */
  readonly ERR_QUIC_STOP_SENDING: "stream";
  /** A `WebTransportError` that the application itself made. */
  readonly ERR_WEBTRANSPORT: "stream";
}

/** A code of this package's own. */
export type QuicErrorCode = keyof QuicErrorCodes;
