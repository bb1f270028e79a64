import { dialQuic, dialWebTransportSession } from "../dial/quic.js";
import { listenQuic, listenWebTransport } from "../listen/quic.js";
import type { TransportCapabilities, TransportProvider } from "./provider.js";

const WITH_TLS = { sessions: true, tls: true, clientCertificates: true } as const satisfies TransportCapabilities;
const OVER_QUIC: TransportCapabilities = { ...WITH_TLS, streams: true, datagrams: true };
const OVER_TCP: TransportCapabilities = { sessions: true, proxyHeader: true };
const OVER_TLS: TransportCapabilities = { ...WITH_TLS, proxyHeader: true };

/**
 * Transport for `quic://`: QUIC with the native engine of `@quicrpc/quic`. Servers also accept WebTransport on the path
 * "/".
 */
const quicProvider: TransportProvider = {
  name: "QUIC",
  schemes: ["quic:"],
  capabilities: { ...OVER_QUIC, earlyData: true },
  dial: dialQuic,
  listen: listenQuic,
};

/** Transport for `https://`: WebTransport over HTTP/3 with the native engine. Servers also accept QUIC. */
const webTransportProvider: TransportProvider = {
  name: "WebTransport",
  schemes: ["https:"],
  capabilities: { ...OVER_QUIC, headers: true },
  defaultPort: 443,
  dial: dialWebTransportSession,
  listen: listenWebTransport,
};

// The other transports are loaded when they are used, because `node:tls`, `node:http` and `ws` take more time and
// memory to load than the QUIC engine.

const tlsProvider: TransportProvider = {
  name: "TLS",
  schemes: ["tls:"],
  capabilities: OVER_TLS,
  dial: async (...args) => (await import("../dial/sockets.js")).dialTls(...args),
  listen: async (...args) => [await (await import("../listen/sockets.js")).listenTls(...args)],
};

const tcpProvider: TransportProvider = {
  name: "TCP",
  schemes: ["tcp:"],
  capabilities: OVER_TCP,
  dial: async (...args) => (await import("../dial/sockets.js")).dialTcp(...args),
  listen: async (...args) => [await (await import("../listen/sockets.js")).listenTcp(...args)],
};

const unixProvider: TransportProvider = {
  name: "a Unix socket",
  schemes: ["unix:"],
  capabilities: { sessions: true },
  dial: async (...args) => (await import("../dial/sockets.js")).dialUnix(...args),
  listen: async (...args) => [await (await import("../listen/sockets.js")).listenUnix(...args)],
};

const webSocketProvider: TransportProvider = {
  name: "WebSocket over TLS",
  schemes: ["wss:"],
  capabilities: { ...OVER_TLS, headers: true },
  defaultPort: 443,
  dial: async (...args) => (await import("../dial/web-socket.js")).dialWebSocket(...args),
  listen: async (...args) => [await (await import("../listen/web.js")).listenWss(...args)],
};

const plainWebSocketProvider: TransportProvider = {
  name: "WebSocket without TLS",
  schemes: ["ws:"],
  capabilities: { ...OVER_TCP, headers: true },
  defaultPort: 80,
  dial: async (...args) => (await import("../dial/web-socket.js")).dialWebSocket(...args),
  listen: async (...args) => [await (await import("../listen/web.js")).listenWs(...args)],
};

/** Transport for `http://`: plain HTTP without sessions and without encryption. Only for servers. */
export const plainHttpProvider: TransportProvider = {
  name: "HTTP without TLS",
  schemes: ["http:"],
  capabilities: { proxyHeader: true },
  defaultPort: 80,
  listen: async (...args) => [await (await import("../listen/web.js")).listenHttp(...args)],
};

/** Transports that `serve`, `connect` and `dial` support by default. */
export const BUILT_IN: readonly TransportProvider[] = [
  quicProvider,
  webTransportProvider,
  tlsProvider,
  webSocketProvider,
  tcpProvider,
  plainWebSocketProvider,
  unixProvider,
  plainHttpProvider,
];
