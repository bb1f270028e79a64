import { combineRouters, createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { connect as connectQuic, type QuicSession, type TransportOptions } from "@quicrpc/quic";
import { ALPN, DEFAULT_PORT } from "./protocol.js";

/** How one session is made. Without `ca` and `serverCertificateHashes`, the system's roots are trusted. */
export interface DialOptions<Context = unknown> extends SessionOptions<Context> {
  /** Roots to trust instead of the system's, PEM. */
  readonly ca?: string | Uint8Array;
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly {
    readonly algorithm: "sha-256";
    readonly value: Uint8Array<ArrayBuffer>;
  }[];
  /** The name to find in the certificate, where it is not the URL's host. */
  readonly serverName?: string;
  /** Milliseconds until the attempt is given up. Default 10,000. */
  readonly timeoutMs?: number;
  /** Aborting gives the attempt up. */
  readonly signal?: AbortSignal;
  /** Timeouts, windows and stream limits of the connection. */
  readonly transport?: TransportOptions;
}

/**
 * Makes one session with `quic://host[:port]`. Rejects with a `QuicError` that says why: no answer, a certificate that
 * is not trusted, another protocol; with `TypeError` when two routers collide.
 */
export async function dial<Context = unknown>(
  url: string | URL,
  options: DialOptions<Context> = {},
): Promise<Session<QuicSession>> {
  const { host, port } = target(url);
  const { ca, serverCertificateHashes, serverName, timeoutMs, signal, transport, routers = [], ...session } = options;
  const combined = [combineRouters(routers)];
  const quic = await connectQuic({
    host,
    port,
    alpn: [ALPN],
    tls: {
      ...(ca !== undefined && { ca }),
      ...(serverCertificateHashes !== undefined && { serverCertificateHashes: [...serverCertificateHashes] }),
    },
    ...(serverName !== undefined && { serverName }),
    ...(timeoutMs !== undefined && { handshakeTimeoutMs: timeoutMs }),
    ...(signal !== undefined && { signal }),
    ...(transport !== undefined && { transport }),
  });
  return createSession(quic, { ...session, routers: combined });
}

function target(url: string | URL): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "quic:") throw new TypeError(`connect() takes quic://host:port, not ${String(url)}`);
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? DEFAULT_PORT : Number(port) };
}
