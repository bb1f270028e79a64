// The entry for transports of your own, which `serve` and `connect` take as `advanced.transports`.
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
export type { PendingConnection } from "../listen/connection-limiter.js";
export {
  type Admission,
  type IncomingSession,
  type IncomingPeer,
  type Listener,
  type ListenSettings,
  type ListenTarget,
  placed,
} from "../listen/listener.js";
export type { Peer, TransportKind } from "../peer.js";
