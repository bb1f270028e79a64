/** Multipliers of the two halves (from MurmurHash3 and xxHash). */
const A = 0x85ebca6b;
const B = 0x9e3779b1;

/**
 * Returns the fingerprint of an input: its format, its length and 64 bits of its bytes. It detects different inputs
 * that were sent under one key by mistake. It is not secure: two inputs with the same fingerprint can be found, but
 * that gains nothing.
 */
export function inputFingerprint(form: string, bytes: Uint8Array, start: number, end: number): string {
  let a = 0x2f0b4c47;
  let b = 0x41c64e6d;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    a = Math.imul(a ^ byte, A);
    b = Math.imul(b ^ byte, B);
    a ^= a >>> 15;
    b ^= b >>> 13;
  }
  a = Math.imul(a ^ (b >>> 7), B);
  b = Math.imul(b ^ (a >>> 11), A);
  return `${form}:${end - start}:${hex(a)}${hex(b)}`;
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}

/**
 * Returns true if two fingerprints may be of the same input. Those of different formats, such as JSON and MessagePack,
 * cannot be compared.
 */
export function mayBeSame(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return true;
  return a.slice(0, a.indexOf(":")) !== b.slice(0, b.indexOf(":"));
}
