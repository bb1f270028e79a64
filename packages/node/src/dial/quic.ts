import { type ClientTlsOptions, connect, type QuicSession } from "@quicrpc/quic";
import { ALPN, DEFAULT_PORT } from "../protocol.js";
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

/** Converts the options to those of the engine. */
export function clientTls(options: TransportDialOptions): ClientTlsOptions {
  const { ca, cert, key, serverCertificateHashes } = options;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
  };
}
