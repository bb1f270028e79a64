import { invalidOption } from "./errors.js";

/** Whom a client trusts. With neither option: the system's roots. */
export interface ClientTlsOptions {
  /** Trust these roots only: PEM, one or more certificates. */
  ca?: string | Uint8Array;
  /**
   * Trust these leaf certificates only, by the SHA-256 of their DER encoding (W3C WebTransport §6.10). Each must have an
   * ECDSA P-256 key, be valid now, and for at most 14 days altogether. The server name is not checked.
   */
  serverCertificateHashes?: { algorithm: "sha-256"; value: ArrayBuffer | ArrayBufferView }[];
}

/** PEM text or bytes as bytes. */
export function toPem(value: string | Uint8Array, name: string): Uint8Array {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof Uint8Array) return value;
  throw invalidOption(`${name} must be PEM, as a string or a Uint8Array`);
}

/** Protocol names in the TLS encoding: each preceded by its length in one byte (RFC 7301 §3.1). */
export function encodeAlpn(names: readonly string[]): Uint8Array {
  if (!Array.isArray(names) || names.length === 0) {
    throw invalidOption("alpn must name at least one protocol: QUIC requires one (RFC 9001 §8.1)");
  }
  const wire = names.flatMap((name) => {
    const bytes = new TextEncoder().encode(name);
    if (bytes.length === 0 || bytes.length > 255) {
      throw invalidOption(`alpn ${JSON.stringify(name)} must have 1 to 255 bytes`);
    }
    return [bytes.length, ...bytes];
  });
  return Uint8Array.from(wire);
}

/** The trust as the engine takes it: 0 system roots, 1 PEM roots, 2 SHA-256 hashes one after the other. */
export function encodeTrust(tls: ClientTlsOptions = {}): readonly [kind: number, bytes: Uint8Array] {
  const { ca, serverCertificateHashes: hashes } = tls;
  if (ca !== undefined && hashes !== undefined) {
    throw invalidOption("tls.ca and tls.serverCertificateHashes exclude each other");
  }
  if (ca !== undefined) return [1, toPem(ca, "tls.ca")];
  if (hashes === undefined) return [0, new Uint8Array(0)];
  if (hashes.length === 0) throw invalidOption("tls.serverCertificateHashes must hold at least one hash");
  const bytes = new Uint8Array(32 * hashes.length);
  for (const [index, { algorithm, value }] of hashes.entries()) {
    const hash = ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : new Uint8Array(value);
    if (algorithm !== "sha-256" || hash.length !== 32) {
      throw invalidOption('tls.serverCertificateHashes takes { algorithm: "sha-256", value: 32 bytes }');
    }
    bytes.set(hash, 32 * index);
  }
  return [2, bytes];
}
