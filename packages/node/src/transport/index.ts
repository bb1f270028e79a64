// Entry for custom transports, which `serve` and `connect` accept as `advanced.transports`.
export { attempt, hostOf, type TransportDialOptions } from "./dialling.js";
export type {
  DialTransport,
  ListenTransport,
  TransportCapabilities,
  TransportProvider,
  WebAcceptor,
  WebProtocol,
} from "./provider.js";
export { type IncomingCallSource, callsOf } from "./calls.js";
export {
  type PendingSession as Admission,
  type IncomingSession,
  type IncomingPeer,
  type Listener,
  type ListenSettings,
  type ListenTarget,
  type WebOffer,
  placed,
} from "../listen/listener.js";
export type { Peer, TransportKind } from "../peer.js";
export { requirePinned } from "../dial/tls.js";
export type { Listen } from "../listen/with-tcp.js";
export { divert } from "../listen/socket-server.js";
export {
  type ConnectionLimiter,
  type ConnectionLimits,
} from "../listen/connection-limiter.js";
export type { PendingConnection } from "../listen/pending-connection.js";
export { type HeldReads, holdReads } from "../listen/held-reads.js";
export type { AcceptedSocket, SocketName } from "../listen/socket-server.js";
export { certificateRefusal, verifiedCertificate } from "../listen/client-certificate.js";
export { firstCertificate } from "../listen/tls-settings.js";
export { listenWeb } from "../listen/web.js";
export { headersOf, pathOf } from "../peer.js";
