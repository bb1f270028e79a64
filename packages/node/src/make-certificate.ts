import { isIP } from "node:net";
import { type CertificateRequest, createCertificate, QuicError } from "@quicrpc/quic";

const HOUR = 3_600_000;
/**
 * Lifetime in milliseconds. Browsers trust a certificate by hash only if it is valid for at most 14 days (W3C
 * WebTransport §9.4).
 */
const LIFETIME = 14 * 24 * HOUR - 2 * HOUR;
/** Five years. */
const AUTHORITY_LIFETIME = 5 * 365 * 24 * HOUR;
const COMMON_NAME = "quicrpc development";

/** Extensions of a certificate that an authority signs, as those of the engine have. */
const SERVER_USAGES = [
  { name: "keyUsage", critical: true, digitalSignature: true },
  { name: "extKeyUsage", serverAuth: true },
] as const;

/** An authority that signs certificates, as PEM. */
export interface Issuer {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a key and an ECDSA P-256 certificate for `hosts`, valid from an hour ago, as one PEM text; self-signed, or
 * signed by an authority. Without the engine the package `selfsigned` creates it. Rejects if that is not installed.
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
 * Creates a key and the certificate of an authority that is limited to these names and their subdomains, as one PEM
 * text. It needs the engine.
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
