/** The subprotocol that both sides of a WebSocket agree on (RFC 6455 §1.9). */
export const WEBSOCKET_PROTOCOL = "quicrpc.v1";
