export interface Sha256 {
  update(bytes: Uint8Array): void;
  copy(): Sha256;
  /** Returns the digest as 64 hexadecimal digits. No input can be added afterwards. */
  hex(): string;
}

/** The hash object of `node:crypto`. */
interface PlatformHash {
  update(bytes: Uint8Array): unknown;
  copy(): PlatformHash;
  digest(encoding: "hex"): string;
}
interface PlatformCrypto {
  createHash(name: "sha256"): PlatformHash;
}

const { process } = globalThis as {
  readonly process?: { getBuiltinModule?(name: string): PlatformCrypto | undefined };
};

/**
 * Creates a SHA-256 hash that accepts its input in parts: from `node:crypto` if available, otherwise a portable one,
 * because WebCrypto has none.
 */
export function createSha256(): Sha256 {
  const crypto = process?.getBuiltinModule?.("node:crypto");
  return crypto === undefined ? new PortableSha256() : new PlatformSha256(crypto.createHash("sha256"));
}

class PlatformSha256 implements Sha256 {
  private readonly hash: PlatformHash;

  constructor(hash: PlatformHash) {
    this.hash = hash;
  }

  update(bytes: Uint8Array): void {
    this.hash.update(bytes);
  }

  copy(): Sha256 {
    return new PlatformSha256(this.hash.copy());
  }

  hex(): string {
    return this.hash.digest("hex");
  }
}

const BLOCK_BYTES = 64;
/** Number of bytes at the end of the last block that contain the message length in bits. */
const LENGTH_BYTES = 8;

/** Returns the first 32 bits of the fractional part of a root, from which FIPS 180-4 derives its constants. */
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
const primes = firstPrimes(BLOCK_BYTES);
const INITIAL: readonly number[] = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND_CONSTANTS: Int32Array = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

/** SHA-256 in JavaScript (FIPS 180-4), for platforms without a hash that accepts its input in parts. */
export class PortableSha256 implements Sha256 {
  private readonly state: Int32Array = Int32Array.from(INITIAL);
  private readonly block: Uint8Array = new Uint8Array(BLOCK_BYTES);
  private readonly words: Int32Array = new Int32Array(BLOCK_BYTES);
  /** Number of bytes hashed so far. */
  private length = 0;

  update(bytes: Uint8Array): void {
    const filled = this.length % BLOCK_BYTES;
    this.length += bytes.length;
    let at = 0;
    if (filled > 0) {
      at = Math.min(bytes.length, BLOCK_BYTES - filled);
      this.block.set(bytes.subarray(0, at), filled);
      if (filled + at < BLOCK_BYTES) return;
      this.compress(this.block, 0);
    }
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.compress(bytes, at);
    this.block.set(bytes.subarray(at));
  }

  copy(): Sha256 {
    const other = new PortableSha256();
    other.state.set(this.state);
    other.block.set(this.block);
    other.length = this.length;
    return other;
  }

  hex(): string {
    const { length } = this;
    const zeros = (2 * BLOCK_BYTES - 1 - LENGTH_BYTES - (length % BLOCK_BYTES)) % BLOCK_BYTES;
    const padding = new Uint8Array(1 + zeros + LENGTH_BYTES);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(1 + zeros, BigInt(length) * 8n);
    this.update(padding);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  private compress(bytes: Uint8Array, at: number): void {
    const { state, words } = this;
    const constants = ROUND_CONSTANTS;
    for (let i = 0; i < 16; i++, at += 4)
      words[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    for (let i = 16; i < BLOCK_BYTES; i++) {
      const w15 = words[i - 15]!;
      const w2 = words[i - 2]!;
      const s0 = rotated(w15, 7) ^ rotated(w15, 18) ^ (w15 >>> 3);
      const s1 = rotated(w2, 17) ^ rotated(w2, 19) ^ (w2 >>> 10);
      words[i] = (words[i - 16]! + s0 + words[i - 7]! + s1) | 0;
    }
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < BLOCK_BYTES; i++) {
      const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + words[i]!) | 0;
      const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
