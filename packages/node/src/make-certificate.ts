import { isIP } from "node:net";
import { type CertificateRequest, createCertificate, QuicError } from "@quicrpc/quic";

const HOUR = 3_600_000;
/**
 * Lifetime of a certificate in milliseconds. Browsers trust a certificate by its hash only if it is valid for at most
 * 14 days (W3C WebTransport §9.4).
 */
const LIFETIME = 14 * 24 * HOUR - 2 * HOUR;
const AUTHORITY_LIFETIME = 5 * 365 * 24 * HOUR;
const COMMON_NAME = "quicrpc development";

/** Extensions of a certificate that an authority signs. The native engine creates the same extensions. */
const SERVER_USAGES = [
  { name: "keyUsage", critical: true, digitalSignature: true },
  { name: "extKeyUsage", serverAuth: true },
] as const;

/** Certificate and private key of an authority that signs certificates, in PEM. */
export interface Issuer {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a private key and an ECDSA P-256 certificate for `hosts`. The certificate is signed by `issuer`, or
 * self-signed, and valid from one hour before now. Returns both as one PEM text. Without the native engine, requires
 * the package `selfsigned`, and rejects if that is not installed.
 */
export async function makeCertificate(hosts: readonly string[], issuer?: Issuer): Promise<string> {
  const request: CertificateRequest = { commonName: COMMON_NAME, hosts, issuer, ...validity(LIFETIME) };
  try {
    return createCertificate(request);
  } catch (error) {
    if (!(error instanceof QuicError) || error.code !== "ERR_QUIC_NATIVE_MISSING") throw error;
    return createWithoutEngine(request, error);
  }
}

/**
 * Creates the private key and certificate of an authority that can only sign certificates for `names` and their
 * subdomains. Returns both as one PEM text. Requires the native engine.
 */
export function makeAuthority(commonName: string, names: readonly string[]): string {
  return createCertificate({ commonName, hosts: names, isAuthority: true, ...validity(AUTHORITY_LIFETIME) });
}

function validity(lifetime: number): Pick<CertificateRequest, "validFrom" | "validTo"> {
  const from = Date.now() - HOUR;
  return { validFrom: new Date(from), validTo: new Date(from + lifetime) };
}

async function createWithoutEngine(
  { commonName, hosts, issuer, validFrom, validTo }: CertificateRequest,
  cause: QuicError,
): Promise<string> {
  const { generate } = await import("selfsigned").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const remedy = "install the package selfsigned, or give serve() a certificate (the option tls)";
    throw new Error(`no development certificate without the QUIC engine: ${remedy}. ${cause.message}`, { cause });
  });
  const altNames = hosts.map((host) =>
    isIP(host) === 0 ? { type: 2 as const, value: host } : { type: 7 as const, ip: host.replace(/%.*/, "") },
  );
  const generated = await generate([{ name: "commonName", value: commonName }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: validFrom,
    notAfterDate: validTo,
    extensions: [{ name: "subjectAltName", altNames }, ...(issuer === undefined ? [] : SERVER_USAGES)],
    ...(issuer !== undefined && { ca: issuer }),
  });
  return `${generated.cert.trim()}\n${generated.private.trim()}\n`;
}
