import { generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

const HOUR = 3_600_000;
/**
 * Lifetime in milliseconds. Browsers trust a certificate by hash only if it is valid for at most 14 days (W3C
 * WebTransport §9.4).
 */
const LIFETIME = 14 * 24 * HOUR - 2 * HOUR;
/** Five years. */
const AUTHORITY_LIFETIME = 5 * 365 * 24 * HOUR;

/** Tags of DER values (X.690 §8); `[n]` is `context(n)`. */
const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const context = (number: number, constructed: boolean): number => (constructed ? 0xa0 : 0x80) + number;

/** Object identifiers of RFC 5280 and RFC 5758, encoded. */
const COMMON_NAME = "550403";
const KEY_USAGE = "551d0f";
const SUBJECT_ALT_NAME = "551d11";
const BASIC_CONSTRAINTS = "551d13";
const NAME_CONSTRAINTS = "551d1e";
const EXTENDED_KEY_USAGE = "551d25";
const SERVER_AUTH = "2b06010505070301";
const ECDSA_WITH_SHA256 = "2a8648ce3d040302";

/** Key usages (RFC 5280 §4.2.1.3) as the contents of a BIT STRING: the number of unused bits, and the bits. */
const DIGITAL_SIGNATURE = [7, 0x80];
const CERTIFICATE_SIGNING = [2, 0x04];

/** An authority that signs certificates, as PEM. */
export interface Issuer {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a key and an ECDSA P-256 certificate for `hosts`, valid from an hour ago, as one PEM text; self-signed, or
 * signed by an authority.
 */
export function makeCertificate(hosts: readonly string[], issuer?: Issuer): string {
  const names = extension(SUBJECT_ALT_NAME, der(SEQUENCE, ...hosts.map((host) => generalName(host, []))));
  const extensions = [names];
  if (issuer !== undefined) {
    const purposes = der(SEQUENCE, identifier(SERVER_AUTH));
    extensions.push(keyUsage(DIGITAL_SIGNATURE), extension(EXTENDED_KEY_USAGE, purposes));
  }
  return make("quicrpc development", LIFETIME, extensions, issuer);
}

/**
 * Creates a key and the certificate of an authority that is limited to these names and their subdomains (RFC 5280
 * §4.2.1.10), as one PEM text.
 */
export function makeAuthority(commonName: string, names: readonly string[]): string {
  const permitted = names.map((name) => der(SEQUENCE, generalName(name, [255])));
  const constraints = der(SEQUENCE, der(BOOLEAN, [0xff]), der(INTEGER, [0]));
  return make(commonName, AUTHORITY_LIFETIME, [
    extension(BASIC_CONSTRAINTS, constraints, true),
    keyUsage(CERTIFICATE_SIGNING),
    extension(NAME_CONSTRAINTS, der(SEQUENCE, der(context(0, true), ...permitted)), true),
  ]);
}

/** Encodes a certificate (RFC 5280 §4.1) and signs it. */
function make(commonName: string, lifetime: number, extensions: readonly Buffer[], issuer?: Issuer): string {
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { format: "pem", type: "pkcs8" },
    publicKeyEncoding: { format: "der", type: "spki" },
  });
  const subject = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, identifier(COMMON_NAME), der(UTF8_STRING, Buffer.from(commonName)))),
  );
  const notBefore = Date.now() - HOUR;
  const algorithm = der(SEQUENCE, identifier(ECDSA_WITH_SHA256));
  const unsigned = der(
    SEQUENCE,
    der(context(0, true), der(INTEGER, [2])),
    der(INTEGER, serialNumber()),
    algorithm,
    issuer === undefined ? subject : subjectOf(issuer.cert),
    der(SEQUENCE, time(notBefore), time(notBefore + lifetime)),
    subject,
    publicKey,
    der(context(3, true), der(SEQUENCE, ...extensions)),
  );
  const signature = sign("sha256", unsigned, issuer?.key ?? privateKey);
  const certificate = der(SEQUENCE, unsigned, algorithm, der(BIT_STRING, [0], signature));
  return new X509Certificate(certificate).toString() + privateKey;
}

/** Encodes a DER value of less than 64 KiB: tag, length, contents. */
function der(tag: number, ...contents: readonly (Uint8Array | readonly number[])[]): Buffer {
  const body = Buffer.concat(contents.map((part) => Uint8Array.from(part)));
  const { length } = body;
  const octets = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.of(tag, ...octets), body]);
}

function identifier(encoded: string): Buffer {
  return der(OBJECT_IDENTIFIER, Buffer.from(encoded, "hex"));
}

/** Years from 2050 on have four digits (RFC 5280 §4.1.2.5). */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return digits < "2050" ? der(UTC_TIME, Buffer.from(digits.slice(2))) : der(GENERALIZED_TIME, Buffer.from(digits));
}

function extension(id: string, value: Buffer, critical: boolean = false): Buffer {
  return der(SEQUENCE, identifier(id), critical ? der(BOOLEAN, [0xff]) : [], der(OCTET_STRING, value));
}

function keyUsage(bits: readonly number[]): Buffer {
  return extension(KEY_USAGE, der(BIT_STRING, bits), true);
}

/** @param mask bytes appended to an address if it represents a network */
function generalName(host: string, mask: readonly number[]): Buffer {
  if (isIP(host) === 0) return der(context(2, false), Buffer.from(host));
  const address = addressBytes(host);
  return der(context(7, false), [...address, ...address.flatMap(() => mask)]);
}

function addressBytes(address: string): number[] {
  if (isIP(address) === 4) return address.split(".").map(Number);
  // A URL's host has neither a dotted part nor leading zeros.
  const { hostname } = new URL(`http://[${address.replace(/%.*/, "")}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...tail].flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]);
}

/** Returns a random positive number. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

/** Returns the encoded subject of a certificate in PEM. */
function subjectOf(cert: string): Buffer {
  const [unsigned = Buffer.of()] = valuesIn(new X509Certificate(cert).raw);
  return valuesIn(unsigned)[5] ?? Buffer.of();
}

/** Splits the contents of an encoded DER value into the values in it. */
function valuesIn(value: Buffer): Buffer[] {
  const values: Buffer[] = [];
  for (let at = contentsAt(value); at < value.length; ) {
    const rest = value.subarray(at);
    const length = rest.readUInt8(1);
    const octets = length & 0x7f;
    const size = contentsAt(rest) + (length < 0x80 ? length : rest.readUIntBE(2, octets));
    values.push(rest.subarray(0, size));
    at += size;
  }
  return values;
}

/** Returns the number of bytes before the contents of an encoded DER value. */
function contentsAt(value: Buffer): number {
  const length = value.readUInt8(1);
  return length < 0x80 ? 2 : 2 + (length & 0x7f);
}
