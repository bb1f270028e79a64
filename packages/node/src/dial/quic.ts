import {
  type ClientTlsOptions,
  connect,
  connectWebTransport,
  type QuicSession,
  type WebTransportSession,
} from "@quicrpc/quic";
import { ALPN, DEFAULT_PORT, WEB_TRANSPORT_PROTOCOL } from "../protocol.js";
import { hostOf, type TransportDialOptions } from "../transport/dialling.js";

/** Dials `quic://host[:port]`. Rejects with a `QuicError`. */
export function dialQuic(url: URL, options: TransportDialOptions): Promise<QuicSession> {
  const { serverName, timeoutMs, signal, transport, earlyData, freshPort = false } = options;
  return connect({
    freshPort,
    host: hostOf(url),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    alpn: [ALPN],
    tls: clientTls(options),
    ...(serverName !== undefined && { serverName }),
    ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
    ...(signal !== undefined && { signal }),
    ...(transport !== undefined && { transport }),
    ...(earlyData !== undefined && { earlyData }),
  });
}

function clientTls(options: TransportDialOptions): ClientTlsOptions {
  const { ca, cert, key, serverCertificateHashes } = options;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
  };
}

/** Dials `https://host[:port]/path`: WebTransport over HTTP/3. Rejects with a `QuicError`. */
export function dialWebTransportSession(url: URL, options: TransportDialOptions): Promise<WebTransportSession> {
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
