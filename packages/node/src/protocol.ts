/** Application protocol negotiated in the TLS handshake (RFC 7301). */
export const ALPN = "quicrpc/1";

export const WEB_TRANSPORT_PROTOCOL = "quicrpc.v1";

/** Default UDP port of servers and of URLs without a port. */
export const DEFAULT_PORT = 4433;
