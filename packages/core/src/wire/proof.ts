import { ProtocolError } from "../errors.js";
import type { UnsharedBytes } from "../platform-types.js";
import { Cursor } from "./cursor.js";
import { ByteWriter } from "./writer.js";

/** Number of bytes of a nonce, and of the exported keying material of a TLS connection. */
export const NONCE_BYTES = 32;
export const CHANNEL_BYTES = 32;
/** Number of bytes of a signature: r and s of ECDSA on P-256 (IEEE P1363), or Ed25519 (RFC 8032). */
const SIGNATURE_BYTES = 64;
const MAX_AUDIENCE_BYTES = 1024;

/**
 * Proof algorithms, each with its number and the bytes of a public key: coordinates x and y on P-256, or a point
 * encoded as in RFC 8032.
 */
const ALGORITHMS = [
  { number: 1, name: "ES256", keyBytes: 64 },
  { number: 2, name: "Ed25519", keyBytes: 32 },
] as const;

/** An algorithm with which a client proves possession of its key. */
export type ProofAlgorithm = (typeof ALGORITHMS)[number]["name"];

/** A proof, and the nonce that it answers. */
export interface ProofClaim {
  readonly nonce: Uint8Array;
  readonly proof: Uint8Array;
}

/** The statement that a client signs to prove possession of its key. */
export interface ProofStatement {
  readonly algorithm: ProofAlgorithm;
  readonly key: UnsharedBytes;
  /** Keying material of the client's TLS connection; empty if there is none. */
  readonly channel: UnsharedBytes;
  /** URL that the client connected to; empty if the client does not know it. */
  readonly audience: string;
}

/** A proof that was read: the statement and its signature, not verified yet. */
export interface SignedStatement extends ProofStatement {
  readonly signature: UnsharedBytes;
  /** Encoded statement. The signature covers it and the bytes that `signedBytes` puts before it. */
  readonly said: UnsharedBytes;
}

export function newNonce(): UnsharedBytes {
  return crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
}

/**
 * Encodes a statement: algorithm (u8) | key | channel length (varint), channel | audience length (varint), audience
 * (UTF-8). In a proof, the signature follows.
 */
export function writeStatement({ algorithm, key, channel, audience }: ProofStatement): UnsharedBytes {
  const text = new TextEncoder().encode(audience);
  const out = new ByteWriter();
  out.byte(ALGORITHMS.find(({ name }) => name === algorithm)?.number ?? 0);
  out.bytes(key);
  for (const part of [channel, text.length > MAX_AUDIENCE_BYTES ? new Uint8Array(0) : text]) {
    out.varint(part.length);
    out.bytes(part);
  }
  return out.written().slice();
}

/**
 * Reads a proof without verifying its signature. Throws `ProtocolError` if it is malformed or its algorithm is unknown.
 */
export function readProof(proof: Uint8Array): SignedStatement {
  const cursor = new Cursor(proof, 0, proof.length);
  const number = cursor.byte();
  const algorithm = ALGORITHMS.find((known) => known.number === number);
  if (algorithm === undefined) throw new ProtocolError(`a proof by the algorithm ${number} is not supported`);
  const key = part(proof, cursor.take(algorithm.keyBytes), algorithm.keyBytes);
  const channel = cursor.nested().rest() as UnsharedBytes;
  if (channel.length !== 0 && channel.length !== CHANNEL_BYTES)
    throw new ProtocolError("a channel has 32 bytes, or none");
  const audience = cursor.nested();
  if (audience.end - audience.position > MAX_AUDIENCE_BYTES) {
    throw new ProtocolError(`the audience of a proof has at most ${MAX_AUDIENCE_BYTES} bytes`);
  }
  const said = part(proof, 0, cursor.position);
  const signature = part(proof, cursor.take(SIGNATURE_BYTES), SIGNATURE_BYTES);
  if (cursor.position !== proof.length) throw new ProtocolError("bytes follow the signature of a proof");
  return { algorithm: algorithm.name, key, channel, audience: audience.text(), signature, said };
}

function part(bytes: Uint8Array, start: number, length: number): UnsharedBytes {
  return bytes.slice(start, start + length);
}
