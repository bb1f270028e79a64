import type { TransportCapabilities, TransportProvider } from "@quicrpc/node";

/**
 * Capabilities of the transport. All calls of a session share one byte stream, with flow control of this library's
 * protocol.
 */
const CAPABILITIES: TransportCapabilities = {
  sessions: true,
  headers: true,
  tls: true,
  // Servers can request them; the package's client cannot present one.
  clientCertificates: true,
  proxyHeader: true,
};

/**
 * Returns a transport for `https://` that uses `@fails-components/webtransport` over HTTP/2 instead of the QUIC engine,
 * in servers and clients: `serve({ listen: "https://[::]:4433", advanced: { transports: [failsTransport()] } })`,
 * `connect(url, { advanced: { transports: [failsTransport()] } })`.
 */
export function failsTransport(): TransportProvider {
  return {
    name: "@fails-components/webtransport",
    schemes: ["https:"],
    capabilities: CAPABILITIES,
    defaultPort: 443,
    dial: async (url, options) => (await import("./dial.js")).dialFails(url, options),
    listen: async (...args) => (await import("./acceptor.js")).listenFails(...args),
  };
}

/**
 * Returns a transport that adds WebTransport over HTTP/2, and over the WebSocket of the package's ponyfill for
 * browsers. It uses the TCP port with the same number as each `quic://` and `https://` listener: `serve({ advanced: {
 * transports: [http2Transport()] } })`.
 */
export function http2Transport(): TransportProvider {
  return {
    name: "WebTransport over HTTP/2",
    schemes: [],
    capabilities: CAPABILITIES,
    webProtocol: async (...args) => (await import("./acceptor.js")).failsProtocol(...args),
  };
}
