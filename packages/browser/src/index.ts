export { connect, type ConnectOptions, type FallbackOptions } from "./connect.js";
export { connectWebTransport, type WebTransportConnectOptions } from "./connect-web-transport.js";
export type { BrowserConnection } from "./heal.js";
export type { BrowserTransport, TransportInUse } from "./transport.js";
