// The entry for transports of your own, which `serve` and `connect` accept as `advanced.transports`.
export { attempt, hostOf, type TransportDialOptions } from "./dialling.js";
export type { DialTransport, ListenTransport, TransportCapabilities, TransportProvider } from "./provider.js";
export { type IncomingCallSource, callsOf } from "./calls.js";
export type {
  PendingSession as Admission,
  IncomingSession,
  IncomingPeer,
  Listener,
  ListenSettings,
  ListenTarget,
} from "../listen/listener.js";
export { requirePinned } from "../dial/tls.js";
