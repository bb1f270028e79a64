// The entry for transports of your own: the interfaces of sessions and streams, and sessions over byte streams, sockets and ports.
export type { TransportErrorInit } from "./transport-error.js";
export { checkOptions } from "./check-options.js";
export { createCallerSession, type ForeignClient } from "./session/caller-session.js";
export {
  byteStreamTransport,
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  type Role,
} from "./transport/byte-stream.js";
export { isDenied, refusalCode, SessionCode } from "./transport/close-codes.js";
export { type Greeting, type GreetingOptions, receiveGreeting } from "./transport/greeting.js";
export { createMemoryPair } from "./transport/memory.js";
export { messagePortTransport, type MessagePortLike } from "./transport/message-port.js";
export type {
  CloseInfo,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
  KeyingMaterialExporter,
  SoleStream,
  TransportSession,
  WebTransportSession,
  WebTransportStream,
} from "./transport/session.js";
export { whenTransportReady } from "./transport/web-session.js";
export { webStreamTransport } from "./transport/web-byte-stream.js";
export { webSocketTransport, type WebSocketLike } from "./transport/web-socket.js";
export { WEBSOCKET_PROTOCOL } from "./transport/web-socket-protocol.js";
export { WEBTRANSPORT_STREAM_PROTOCOL, oneStreamTransport } from "./transport/web-transport-stream.js";
