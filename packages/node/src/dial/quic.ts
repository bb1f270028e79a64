import { connect, type QuicSession } from "@quicrpc/quic";
import { ALPN, DEFAULT_PORT } from "../protocol.js";
import { hostOf, type TransportDialOptions } from "./dialler.js";

/** Dials `quic://host[:port]`. Rejects with a `QuicError`. */
export function dialQuic(url: URL, options: TransportDialOptions): Promise<QuicSession> {
  const { ca, cert, key, serverCertificateHashes, serverName, timeoutMs, signal, transport } = options;
  return connect({
    host: hostOf(url),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    alpn: [ALPN],
    tls: {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
    },
    ...(serverName !== undefined && { serverName }),
    ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
    ...(signal !== undefined && { signal }),
    ...(transport !== undefined && { transport }),
  });
}
