import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { hostOf, type TransportDialOptions, selfConnection } from "../transport/dialling.js";
import type { NodeErrorCodes } from "../transport/failure.js";

function clientTls(url: URL, options: TransportDialOptions): ConnectionOptions {
  const { ca, cert, key, serverCertificateHashes, serverName = hostOf(url) } = options;
  return {
    minVersion: "TLSv1.3",
    ...(isIP(serverName) === 0 && { servername: serverName }),
    ...(ca !== undefined && { ca: buffer(ca) }),
    ...(cert !== undefined && { cert: buffer(cert) }),
    ...(key !== undefined && { key: buffer(key) }),
    // Checked by `requirePinned` instead.
    ...(serverCertificateHashes !== undefined && { rejectUnauthorized: false }),
  };
}

/**
 * Maximum validity in milliseconds of a certificate that is trusted by its hash (W3C WebTransport §9.4, "custom
 * certificate requirements").
 */
const MAX_PINNED_MS = 14 * 24 * 3600 * 1000;

/** Address of a TLS server, and the protocol to negotiate (RFC 7301). */
export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  readonly alpn: string;
}

/**
 * Connects with TLS and returns the socket once the server is trusted. Nothing is written before that: with
 * certificates trusted by hash, Node completes the handshake with any server and would send data to it.
 */
export function connectTrusted(
  url: URL,
  { host, port, alpn }: TlsTarget,
  options: TransportDialOptions,
  onTrusted: (socket: TLSSocket) => void,
  reject: (error: unknown) => void,
): TLSSocket {
  const socket = connect({ host, port, ...clientTls(url, options), ALPNProtocols: [alpn] });
  socket.setNoDelay(true);
  socket.once("error", reject);
  socket.once("connect", () => {
    const error = selfConnection(socket);
    if (error !== undefined) reject(error);
  });
  socket.once("secureConnect", () => {
    try {
      requirePinned(socket, options);
    } catch (error) {
      reject(error);
      return;
    }
    socket.off("error", reject);
    onTrusted(socket);
  });
  return socket;
}

/**
 * Throws if `serverCertificateHashes` is set and the server's certificate does not match any of the hashes or is not
 * valid now.
 */
export function requirePinned(socket: TLSSocket, { serverCertificateHashes }: TransportDialOptions): void {
  if (serverCertificateHashes === undefined) return;
  const certificate = socket.getPeerX509Certificate();
  const hash = certificate === undefined ? undefined : createHash("sha256").update(certificate.raw).digest();
  if (certificate === undefined || !serverCertificateHashes.some(({ value }) => hash?.equals(value))) {
    const text = "the server's certificate has none of the hashes in serverCertificateHashes";
    throw Object.assign(new Error(text), { code: "ERR_TLS_CERTIFICATE_HASH_MISMATCH" satisfies keyof NodeErrorCodes });
  }
  const now = Date.now();
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (!(from <= now && now <= to)) {
    throw Object.assign(new Error("the server's certificate is expired or not yet valid"), {
      code: "CERT_HAS_EXPIRED",
    });
  }
  // Same rule as in browsers and in the QUIC engine: a certificate that is trusted without an authority must be renewed
  // often.
  const { asymmetricKeyDetails } = certificate.publicKey;
  if (to - from <= MAX_PINNED_MS && asymmetricKeyDetails?.namedCurve === "prime256v1") return;
  const text = "a certificate trusted by its hash must have an ECDSA P-256 key, and be valid for at most 14 days";
  throw Object.assign(new Error(text), { code: "ERR_TLS_CERTIFICATE_UNSUITABLE" satisfies keyof NodeErrorCodes });
}

function buffer(pem: string | Uint8Array): string | Buffer {
  return typeof pem === "string" ? pem : Buffer.from(pem);
}
