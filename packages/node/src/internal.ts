// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
export type { WebAcceptor, WebProtocol } from "./transport/provider.js";
export { placed } from "./listen/listener.js";
export { type AcceptedSocket, divert } from "./listen/socket-server.js";
export type { ConnectionLimiter } from "./listen/connection-limiter.js";
export type { PendingConnection } from "./listen/pending-connection.js";
export { type HeldReads, holdReads } from "./listen/held-reads.js";
export { certificateRefusal, verifiedCertificate } from "./listen/client-certificate.js";
export { firstCertificate } from "./listen/tls-settings.js";
export { listenWeb } from "./listen/web.js";
export { headersOf, pathOf } from "./peer.js";
