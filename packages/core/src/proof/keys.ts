import type { UnsharedBytes } from "../platform-types.js";
import { type ProofAlgorithm, CHANNEL_BYTES } from "../wire/proof.js";
import type { KeyingMaterialExporter } from "../transport/session.js";

/** The members of a WebCrypto `CryptoKey` that this module uses. */
export interface ProofKey {
  readonly type: string;
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string };
}

/** The key pair with which a client proves its identity: a `CryptoKeyPair` for ECDSA on P-256 or for Ed25519. */
export interface ProofKeys {
  readonly privateKey: ProofKey;
  readonly publicKey: ProofKey;
}

const ECDSA = { name: "ECDSA", namedCurve: "P-256" } as const;
const ECDSA_SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;
const ED25519 = { name: "Ed25519" } as const;

/** First byte of an uncompressed elliptic-curve point (SEC 1 §2.3.3). */
const UNCOMPRESSED = 4;

/**
 * Generates a key pair. Its private key cannot be extracted, even by scripts of the same page, which can only sign with
 * it. Store the pair in IndexedDB, which can store keys. All platforms support ES256; some browsers do not support
 * Ed25519.
 */
export async function createProofKeys(algorithm: ProofAlgorithm = "ES256"): Promise<ProofKeys> {
  const parameters = algorithm === "ES256" ? ECDSA : ED25519;
  return (await crypto.subtle.generateKey(parameters, false, ["sign", "verify"])) as CryptoKeyPair;
}

/**
 * Returns the thumbprint of a public key: SHA-256 of its JWK in base64url (RFC 7638). A token that is bound to the key
 * contains it as `cnf.jkt`.
 */
export async function keyThumbprint({ publicKey }: Pick<ProofKeys, "publicKey">): Promise<string> {
  return thumbprintOf(algorithmOf(publicKey), await rawKey(publicKey));
}

/** Returns the signature algorithm of a key. Throws `TypeError` if it is not ECDSA on P-256 or Ed25519. */
export function algorithmOf({ algorithm }: ProofKey): ProofAlgorithm {
  const { name, namedCurve } = algorithm as { name: string; namedCurve?: string };
  if (name === "Ed25519") return "Ed25519";
  if (name === "ECDSA" && namedCurve === "P-256") return "ES256";
  throw new TypeError("a proof needs a key for ECDSA on P-256 or Ed25519: createProofKeys() makes one");
}

/** Returns a public key in the format of a proof: x and y for ES256, or the point of RFC 8032 for Ed25519. */
export async function rawKey(key: ProofKey): Promise<UnsharedBytes> {
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", key as CryptoKey));
  return algorithmOf(key) === "ES256" ? raw.slice(1) : raw;
}

/** Returns the thumbprint (RFC 7638) of a public key in the format of a proof. */
export async function thumbprintOf(algorithm: ProofAlgorithm, key: Uint8Array): Promise<string> {
  // RFC 7638 §3.2 and RFC 8037 §2 require exactly these members, sorted by name.
  const jwk =
    algorithm === "ES256"
      ? { crv: "P-256", kty: "EC", x: base64url(key.subarray(0, 32)), y: base64url(key.subarray(32)) }
      : { crv: "Ed25519", kty: "OKP", x: base64url(key) };
  return base64url(await sha256(JSON.stringify(jwk)));
}

export async function sign(key: ProofKey, bytes: UnsharedBytes): Promise<UnsharedBytes> {
  const parameters = algorithmOf(key) === "ES256" ? ECDSA_SIGNATURE : ED25519;
  return new Uint8Array(await crypto.subtle.sign(parameters, key as CryptoKey, bytes));
}

/**
 * Returns true if `signature` is a valid signature of `bytes` by the private key that belongs to `key`. Returns false
 * if the signature or the key is invalid.
 */
export async function isSigned(
  algorithm: ProofAlgorithm,
  key: UnsharedBytes,
  signature: UnsharedBytes,
  bytes: UnsharedBytes,
): Promise<boolean> {
  const [kind, parameters] = algorithm === "ES256" ? [ECDSA, ECDSA_SIGNATURE] : [ED25519, ED25519];
  const raw = algorithm === "ES256" ? Uint8Array.of(UNCOMPRESSED, ...key) : key;
  try {
    const publicKey = await crypto.subtle.importKey("raw", raw, kind, false, ["verify"]);
    return await crypto.subtle.verify(parameters, publicKey, signature, bytes);
  } catch {
    return false;
  }
}

async function sha256(text: string): Promise<UnsharedBytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function base64url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** First bytes of the data that a proof signs, so that the signature cannot be used for another purpose. */
const PURPOSE = "quicrpc.v1.proof";

/**
 * Label for exporting keying material (RFC 9266). Over WebTransport it is used within the context of
 * `EXPORTER-WebTransport`.
 */
const CHANNEL_LABEL = "EXPORTER-Channel-Binding";

/**
 * Returns the bytes that a client signs: purpose | nonce | SHA-256 of its credentials (of "" if it has none) |
 * statement.
 */
export async function signedBytes(
  nonce: Uint8Array,
  credentials: string | undefined,
  statement: Uint8Array,
): Promise<UnsharedBytes> {
  const parts = [new TextEncoder().encode(PURPOSE), nonce, await sha256(credentials ?? ""), statement];
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Returns keying material that only the two ends of the TLS connection know. Returns an empty array if the platform
 * does not export it.
 */
export async function channelOf(transport: KeyingMaterialExporter): Promise<UnsharedBytes> {
  const label = new TextEncoder().encode(CHANNEL_LABEL);
  try {
    const material = await transport.exportKeyingMaterial?.(label, new Uint8Array(0), CHANNEL_BYTES);
    const bytes = new Uint8Array(material ?? []);
    return bytes.length === CHANNEL_BYTES ? bytes : new Uint8Array(0);
  } catch {
    return new Uint8Array(0);
  }
}
