import { loadNative, packFields, unwrap } from "./native.js";

/** Parameters of `createCertificate`, which creates a development certificate. */
export interface CertificateRequest {
  /** Common name of the certificate's subject. */
  readonly commonName: string;
  /**
   * Host names and addresses that the certificate is valid for. An authority can sign certificates only for these hosts
   * and their subdomains (RFC 5280 §4.2.1.10).
   */
  readonly hosts: readonly string[];
  readonly validFrom: Date;
  readonly validTo: Date;
  /** If true, creates the certificate of an authority. Default false. */
  readonly isAuthority?: boolean;
  /** The authority that signs the certificate, in PEM. Default: the certificate is self-signed. */
  readonly issuer?: { readonly cert: string; readonly key: string } | undefined;
}

/**
 * Creates an ECDSA P-256 private key and its certificate, as one PEM text. Throws `QuicError`:
 * `ERR_QUIC_NATIVE_MISSING` if there is no native engine for this platform, `ERR_QUIC_INVALID_OPTION` if a host or the
 * issuer is invalid.
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
