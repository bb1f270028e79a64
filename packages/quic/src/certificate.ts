import { loadNative, packFields, unwrap } from "./native.js";

/** A certificate for development, to be created. */
export interface CertificateRequest {
  /** Common name of the subject. */
  readonly commonName: string;
  /**
   * Host names and addresses that the certificate is valid for. An authority may sign certificates only for these and
   * their subdomains (RFC 5280 §4.2.1.10).
   */
  readonly hosts: readonly string[];
  readonly validFrom: Date;
  readonly validTo: Date;
  /** Whether the certificate belongs to an authority. Default false. */
  readonly isAuthority?: boolean;
  /** The authority that signs, as PEM. Default: the certificate is self-signed. */
  readonly issuer?: { readonly cert: string; readonly key: string } | undefined;
}

/**
 * Creates an ECDSA P-256 key and its certificate, as one PEM text. Throws `QuicError`: `ERR_QUIC_NATIVE_MISSING` if
 * this platform has no engine, `ERR_QUIC_INVALID_OPTION` if a host or the issuer is malformed.
 */
export function createCertificate(request: CertificateRequest): string {
  const { commonName, hosts, isAuthority = false, issuer, validFrom, validTo } = request;
  if (hosts.length === 0) throw new TypeError("createCertificate() needs at least one host");
  if (isAuthority && issuer !== undefined)
    throw new TypeError("createCertificate(): an authority signs itself, without an issuer");
  const texts = [commonName, isAuthority ? "\u0001" : "", issuer?.cert ?? "", issuer?.key ?? "", ...hosts];
  const encoder = new TextEncoder();
  const fields = packFields(texts.map((text) => encoder.encode(text)));
  return unwrap(loadNative().createCertificate(fields, seconds(validFrom), seconds(validTo)));
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
