import { BitString, Integer, OctetString, Utf8String } from "asn1js";
import ipaddr from "ipaddr.js";
import {
  AltName,
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralSubtree,
  NameConstraints,
} from "pkijs";

const HOUR = 3_600_000;
/**
 * Lifetime in milliseconds. Browsers trust a certificate by hash only if it is valid for at most 14 days (W3C
 * WebTransport §9.4).
 */
const LIFETIME = 14 * 24 * HOUR - 2 * HOUR;
/** Five years. */
const AUTHORITY_LIFETIME = 5 * 365 * 24 * HOUR;

/** Object identifiers and choices of RFC 5280: commonName, extensions, serverAuth, and the kinds of a GeneralName. */
const COMMON_NAME = "2.5.4.3";
const KEY_USAGE = "2.5.29.15";
const SUBJECT_ALT_NAME = "2.5.29.17";
const BASIC_CONSTRAINTS = "2.5.29.19";
const NAME_CONSTRAINTS = "2.5.29.30";
const EXTENDED_KEY_USAGE = "2.5.29.37";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Usages of a key (RFC 5280 §4.2.1.3), as a bit string's byte and its unused bits. */
const DIGITAL_SIGNATURE = { byte: 0x80, unusedBits: 7 };
const CERTIFICATE_SIGNING = { byte: 0x04, unusedBits: 2 };

/** An authority that signs certificates, as PEM. */
export interface Issuer {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a key and an ECDSA P-256 certificate for `hosts`, valid from an hour ago, as one PEM text; self-signed, or
 * signed by an authority.
 */
export async function makeCertificate(hosts: readonly string[], issuer?: Issuer): Promise<string> {
  const names = new AltName({ altNames: hosts.map((host) => generalName(host, [])) });
  const extensions = [extension(SUBJECT_ALT_NAME, names.toSchema().toBER())];
  if (issuer !== undefined) {
    const usage = new ExtKeyUsage({ keyPurposes: [SERVER_AUTH] });
    extensions.push(keyUsage(DIGITAL_SIGNATURE), extension(EXTENDED_KEY_USAGE, usage.toSchema().toBER()));
  }
  return make("quicrpc development", LIFETIME, extensions, issuer);
}

/**
 * Creates a key and the certificate of an authority that is limited to these names and their subdomains (RFC 5280
 * §4.2.1.10), as one PEM text.
 */
export function makeAuthority(commonName: string, names: readonly string[]): Promise<string> {
  const permittedSubtrees = names.map((name) => new GeneralSubtree({ base: generalName(name, [255]) }));
  return make(commonName, AUTHORITY_LIFETIME, [
    extension(BASIC_CONSTRAINTS, new BasicConstraints({ cA: true, pathLenConstraint: 0 }).toSchema().toBER(), true),
    keyUsage(CERTIFICATE_SIGNING),
    extension(NAME_CONSTRAINTS, new NameConstraints({ permittedSubtrees }).toSchema().toBER(), true),
  ]);
}

async function make(commonName: string, lifetime: number, extensions: Extension[], issuer?: Issuer): Promise<string> {
  const { subtle } = globalThis.crypto;
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const keys = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = new Certificate({ version: 2 });
  certificate.serialNumber = new Integer({ valueHex: serialNumber() });
  const value = new Utf8String({ value: commonName });
  certificate.subject.typesAndValues.push(new AttributeTypeAndValue({ type: COMMON_NAME, value }));
  certificate.issuer = issuer === undefined ? certificate.subject : Certificate.fromBER(der(issuer.cert)).subject;
  const notBefore = Date.now() - HOUR;
  certificate.notBefore.value = new Date(notBefore);
  certificate.notAfter.value = new Date(notBefore + lifetime);
  certificate.extensions = extensions;
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey);
  const signer =
    issuer === undefined
      ? keys.privateKey
      : await subtle.importKey("pkcs8", der(issuer.key), algorithm, false, ["sign"]);
  await certificate.sign(signer, "SHA-256");
  const key = await subtle.exportKey("pkcs8", keys.privateKey);
  return pem("CERTIFICATE", certificate.toSchema(true).toBER()) + pem("PRIVATE KEY", key);
}

function extension(extnID: string, extnValue: ArrayBuffer, critical: boolean = false): Extension {
  return new Extension({ extnID, critical, extnValue });
}

function keyUsage({ byte, unusedBits }: typeof DIGITAL_SIGNATURE): Extension {
  return extension(KEY_USAGE, new BitString({ valueHex: Uint8Array.of(byte).buffer, unusedBits }).toBER(), true);
}

/** @param mask bytes appended to an address if it represents a network */
function generalName(host: string, mask: readonly number[]): GeneralName {
  if (!ipaddr.isValid(host)) return new GeneralName({ type: DNS_NAME, value: host });
  const address = ipaddr.parse(host).toByteArray();
  const valueHex = Uint8Array.from([...address, ...address.flatMap(() => mask)]).buffer;
  return new GeneralName({ type: IP_ADDRESS, value: new OctetString({ valueHex }) });
}

/** Returns a random positive number. */
function serialNumber(): ArrayBuffer {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.buffer;
}

function pem(label: string, der: ArrayBuffer): string {
  const lines = Buffer.from(der)
    .toString("base64")
    .replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

function der(pem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64"));
}
