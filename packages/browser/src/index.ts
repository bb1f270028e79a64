export { type AdvancedConnectOptions, connect, type ConnectOptions } from "./connect.js";
export { connectWebTransport, type WebTransportConnectOptions } from "./connect-web-transport.js";
export { type AdvancedDialOptions, dial, type DialOptions, type FallbackOptions } from "./dial.js";
export type { BrowserConnection } from "./reconnecting.js";
export type {
  BrowserTransport,
  CertificateHash,
  HttpProvider,
  HttpSettings,
  OpenSettings,
  PageTransportProvider,
  PlatformWebTransport,
  TransportInUse,
  TransportKind,
} from "./transport.js";
