export {
  type BrowserConnection,
  connect,
  type ConnectOptions,
  connectWebTransport,
  type FallbackOptions,
  type WebTransportConnectOptions,
} from "./connect.js";
export type { BrowserTransport, TransportInUse } from "./transport.js";
