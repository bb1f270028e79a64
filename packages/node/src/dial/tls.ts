import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { hostOf, type TransportDialOptions } from "./dialler.js";

/** What Node's `tls` takes of the options. */
export function clientTls(url: URL, options: TransportDialOptions): ConnectionOptions {
  const { ca, cert, key, serverCertificateHashes, serverName = hostOf(url) } = options;
  return {
    minVersion: "TLSv1.3",
    ...(isIP(serverName) === 0 && { servername: serverName }),
    ...(ca !== undefined && { ca: buffer(ca) }),
    ...(cert !== undefined && { cert: buffer(cert) }),
    ...(key !== undefined && { key: buffer(key) }),
    // `requirePinned` looks at it instead.
    ...(serverCertificateHashes !== undefined && { rejectUnauthorized: false }),
  };
}

/** Where certificates are trusted by hash: throws unless the server's is one of them, and valid now. */
export function requirePinned(socket: TLSSocket, { serverCertificateHashes }: TransportDialOptions): void {
  if (serverCertificateHashes === undefined) return;
  const certificate = socket.getPeerX509Certificate();
  const hash = certificate === undefined ? undefined : createHash("sha256").update(certificate.raw).digest();
  const pinned = hash !== undefined && serverCertificateHashes.some(({ value }) => hash.equals(value));
  if (!pinned) {
    const text = "the server's certificate has none of the hashes in serverCertificateHashes";
    throw Object.assign(new Error(text), { code: "ERR_TLS_CERTIFICATE_HASH_MISMATCH" });
  }
  const now = Date.now();
  if (Date.parse(certificate?.validFrom ?? "") <= now && now <= Date.parse(certificate?.validTo ?? "")) return;
  throw Object.assign(new Error("the server's certificate is not valid now"), { code: "CERT_HAS_EXPIRED" });
}

function buffer(pem: string | Uint8Array): string | Buffer {
  return typeof pem === "string" ? pem : Buffer.from(pem);
}
