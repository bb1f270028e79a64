// The entry of packages that bring a transport for `serve` and `connect`.
export { attempt, hostOf, type TransportDialOptions } from "./dialling.js";
export type {
  DialTransport,
  ListenTransport,
  TransportAbilities,
  TransportProvider,
  WebAcceptor,
  WebProtocol,
} from "./provider.js";
export { type CallsArrival, callsOf } from "./calls.js";
export { requirePinned } from "../dial/tls.js";
export { type Listen, listenTwice } from "../listen/beside.js";
export { divert } from "../listen/divert.js";
export { Door, doorLimits, type DoorLimits, type Visit } from "../listen/door.js";
export { type HeldReads, holdReads } from "../listen/held-reads.js";
export {
  type Admission,
  type Arrival,
  type ArrivingPeer,
  type Listener,
  type ListenSettings,
  type ListenTarget,
  placed,
  type WebOffer,
} from "../listen/listener.js";
export type { Guest, SocketName } from "../listen/socket-server.js";
export { certificateRefusal, verifiedCertificate } from "../listen/client-certificate.js";
export { firstCertificate } from "../listen/tls-settings.js";
export { listenWeb } from "../listen/web.js";
export { headersOf, pathOf, type Peer, type TransportKind } from "../peer.js";
