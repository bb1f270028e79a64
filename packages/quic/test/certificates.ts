import "reflect-metadata";
import {
  X509CertificateGenerator,
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
} from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY = 24 * 3600 * 1000;

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the DER. */
  readonly hash: Uint8Array;
  readonly x509: X509Certificate;
  readonly keys: CryptoKeyPair;
}

export interface Request {
  names?: string[];
  from?: number;
  days?: number;
  ca?: boolean;
  issuer?: TestCertificate;
  keyAlgorithm?: EcKeyGenParams & { hash: string };
}

/** A certificate for localhost, self-signed unless `issuer` is given. */
export async function certificate(request: Request = {}): Promise<TestCertificate> {
  const { names = ["localhost"], days = 10, ca = false, issuer, keyAlgorithm = ALGORITHM } = request;
  const notBefore = new Date(request.from ?? Date.now() - 3_600_000);
  const keys = await crypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const subject = `CN=${ca ? (request.names?.[0] ?? "test authority") : (names[0] ?? "test")}`;
  const x509 = await X509CertificateGenerator.create({
    serialNumber: Math.floor(Math.random() * 2 ** 40)
      .toString(16)
      .padStart(12, "1"),
    subject,
    issuer: issuer?.x509.subject ?? subject,
    notBefore,
    notAfter: new Date(notBefore.getTime() + days * DAY),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: issuer === undefined ? keyAlgorithm : ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(ca, undefined, true),
      ...(ca ? [] : [new SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns" as const, value })))]),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  const body = Buffer.from(pkcs8).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    cert: x509.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`,
    hash: new Uint8Array(await crypto.subtle.digest("SHA-256", x509.rawData)),
    x509,
    keys,
  };
}
