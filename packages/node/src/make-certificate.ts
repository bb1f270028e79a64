import { Integer, OctetString, Utf8String } from "asn1js";
import ipaddr from "ipaddr.js";
import { AltName, AttributeTypeAndValue, Certificate, Extension, GeneralName } from "pkijs";

const HOUR = 3_600_000;
/** Browsers trust by hash only what is valid for at most 14 days (W3C WebTransport §9.4). */
const LIFETIME = 14 * 24 * HOUR - 2 * HOUR;

/** Object identifiers and choices of RFC 5280: commonName, subjectAltName, and the kinds of a GeneralName. */
const COMMON_NAME = "2.5.4.3";
const SUBJECT_ALT_NAME = "2.5.29.17";
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** A new key and a self-signed ECDSA P-256 certificate for `hosts`, valid from an hour ago, as PEM in one text. */
export async function makeCertificate(hosts: readonly string[]): Promise<string> {
  const { subtle } = globalThis.crypto;
  const keys = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const certificate = new Certificate({ version: 2 });
  certificate.serialNumber = new Integer({ valueHex: serialNumber() });
  for (const name of [certificate.subject, certificate.issuer]) {
    const value = new Utf8String({ value: "quicrpc development" });
    name.typesAndValues.push(new AttributeTypeAndValue({ type: COMMON_NAME, value }));
  }
  const notBefore = Date.now() - HOUR;
  certificate.notBefore.value = new Date(notBefore);
  certificate.notAfter.value = new Date(notBefore + LIFETIME);
  const extnValue = new AltName({ altNames: hosts.map(generalName) }).toSchema().toBER();
  certificate.extensions = [new Extension({ extnID: SUBJECT_ALT_NAME, critical: false, extnValue })];
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey);
  await certificate.sign(keys.privateKey, "SHA-256");
  const key = await subtle.exportKey("pkcs8", keys.privateKey);
  return pem("CERTIFICATE", certificate.toSchema(true).toBER()) + pem("PRIVATE KEY", key);
}

function generalName(host: string): GeneralName {
  if (!ipaddr.isValid(host)) return new GeneralName({ type: DNS_NAME, value: host });
  const valueHex = new Uint8Array(ipaddr.parse(host).toByteArray()).buffer;
  return new GeneralName({ type: IP_ADDRESS, value: new OctetString({ valueHex }) });
}

/** Positive, and unlike any other. */
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
