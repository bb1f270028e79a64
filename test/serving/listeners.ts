import { failsTransport } from "@quicrpc/fails-components";
import type { DialOptions } from "@quicrpc/node";

/** Something that `serve` listens on. */
export interface Listener {
  readonly name: string;
  /** The URL that `serve` takes. */
  readonly listen: string;
  /** Options of the server, and of those who dial it. */
  readonly options: Pick<DialOptions, "advanced">;
}

const engine: Listener[] = [
  { name: "QUIC", listen: "quic://127.0.0.1:0", options: {} },
  { name: "WebTransport", listen: "https://127.0.0.1:0/rpc", options: {} },
];

/** Every listener on a port, without those of the engine if it is not available. */
export const LISTENERS: readonly Listener[] = [
  ...(process.env["QUICRPC_NO_ENGINE"] === undefined ? engine : []),
  { name: "TCP", listen: "tcp://127.0.0.1:0", options: {} },
  { name: "TLS", listen: "tls://127.0.0.1:0", options: {} },
  { name: "WebSocket", listen: "ws://127.0.0.1:0/rpc", options: {} },
  { name: "WebSocket over TLS", listen: "wss://127.0.0.1:0/rpc", options: {} },
  {
    name: "WebTransport over HTTP/2",
    listen: "https://127.0.0.1:0/rpc",
    options: { advanced: { transports: [failsTransport()] } },
  },
];

/** Listeners that pages can reach. */
export const WEB_LISTENERS: readonly Listener[] = LISTENERS.filter(({ listen }) => /^(https|wss?):/.test(listen));
