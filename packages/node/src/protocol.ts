/** The application protocol that both sides agree on in the TLS handshake (RFC 7301). */
export const ALPN = "quicrpc/1";

/** The subprotocol that both sides agree on in a WebTransport request. */
export const WEB_TRANSPORT_PROTOCOL = "quicrpc.v1";

/** The UDP port where none is given. */
export const DEFAULT_PORT = 4433;
