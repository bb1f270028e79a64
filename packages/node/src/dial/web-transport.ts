import { connectWebTransport, type WebTransportSession } from "@quicrpc/quic";
import { WEB_TRANSPORT_PROTOCOL } from "../protocol.js";
import { clientTls } from "./quic.js";
import type { TransportDialOptions } from "../transport/dialling.js";

/** Dials `https://host[:port]/path`: WebTransport over HTTP/3. Rejects with a `QuicError`. */
export function dialWebTransport(url: URL, options: TransportDialOptions): Promise<WebTransportSession> {
  const { headers, serverName, timeoutMs, signal, transport, freshPort = false } = options;
  return connectWebTransport(url, {
    freshPort,
    protocols: [WEB_TRANSPORT_PROTOCOL],
    tls: clientTls(options),
    ...(headers !== undefined && { headers }),
    ...(serverName !== undefined && { serverName }),
    ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
    ...(signal !== undefined && { signal }),
    ...(transport !== undefined && { transport }),
  });
}
