// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
export { requirePinned } from "./dial/tls.js";
export { type Listen, listenTwice } from "./listen/with-tcp.js";
export { divert } from "./listen/divert.js";
export { ConnectionLimiter, connectionLimits, type ConnectionLimits } from "./listen/connection-limiter.js";
export { type HeldReads, holdReads } from "./listen/held-reads.js";
export type { WebOffer } from "./listen/listener.js";
export type { AcceptedSocket, SocketName } from "./listen/socket-server.js";
export { certificateRefusal, verifiedCertificate } from "./listen/client-certificate.js";
export { firstCertificate } from "./listen/tls-settings.js";
export { listenWeb } from "./listen/web.js";
export { headersOf, pathOf } from "./peer.js";
