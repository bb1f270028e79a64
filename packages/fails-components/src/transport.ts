import { checkOptions } from "@quicrpc/core/transport";
import type { TransportCapabilities, TransportProvider } from "@quicrpc/node";

/** Options of `failsTransport`. */
export interface FailsTransportOptions {
  /**
   * 2: HTTP/2 only. 3: HTTP/3 only for clients; servers offer HTTP/2 as well, and reject if HTTP/3 is not available.
   * Default: HTTP/3 if the package's quiche transport is installed and, for clients, the server answers; otherwise
   * HTTP/2.
   */
  readonly httpVersion?: 2 | 3;
}

/** All calls of a session share one byte stream with the protocol's own flow control. */
const CAPABILITIES: TransportCapabilities = {
  sessions: true,
  headers: true,
  tls: true,
  // Servers over HTTP/2 can request them; the package's client cannot present one.
  clientCertificates: true,
  proxyHeader: true,
};

/**
 * Uses `@fails-components/webtransport` for `https://` instead of the QUIC engine, in servers and clients: `serve({
 * advanced: { transports: [failsTransport()] }, listen: ["https://[::]:4433"] })`, `connect(url, { advanced: {
 * transports: [failsTransport()] } })`.
 */
export function failsTransport(options: FailsTransportOptions = {}): TransportProvider {
  checkOptions("failsTransport()", options, { httpVersion: true });
  const { httpVersion } = options;
  return {
    name: "@fails-components/webtransport",
    schemes: ["https:"],
    capabilities: CAPABILITIES,
    defaultPort: 443,
    dial: async (url, options) => (await import("./dial.js")).dialFails(url, options, httpVersion),
    listen: async (...given) => (await import("./listen.js")).listenFails(httpVersion, ...given),
  };
}

/**
 * WebTransport over HTTP/2, and over the WebSocket of the package's ponyfill for browsers, on the TCP port with the
 * same number as each `quic://` and `https://` listener: `serve({ advanced: { transports: [http2Transport()] } })`.
 */
export function http2Transport(): TransportProvider {
  return {
    name: "WebTransport over HTTP/2",
    schemes: [],
    capabilities: CAPABILITIES,
    webProtocol: async (...given) => (await import("./acceptor.js")).failsProtocol(...given),
  };
}
