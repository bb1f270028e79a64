/**
 * Decimal digits of a bigint on the wire, in codecs that carry more than 64 bits: to convert them takes time that grows with their
 * square.
 */
export const MAX_BIGINT_DIGITS = 2500;
/** Bytes of a bigint of `MAX_BIGINT_DIGITS` in two's complement, and a few more. */
const MAX_BIGINT_BYTES = 1040;

/** Throws `RangeError` for a bigint of too many digits. */
export function requireModestBigInt(value: bigint): void {
  if (BigInt.asIntN(64, value) === value) return;
  const least = 10n ** BigInt(MAX_BIGINT_DIGITS);
  if (value >= least || value <= -least) throw tooManyDigits();
}

/** The bigint whose two's complement is `bytes`, the highest first. */
export function bigIntOf(bytes: Uint8Array): bigint {
  if (bytes.length > MAX_BIGINT_BYTES) throw tooManyDigits();
  let hex = "0x0";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return BigInt.asIntN(bytes.length * 8, BigInt(hex));
}

/** The error of a bigint that is larger than codecs take. */
export function tooManyDigits(): RangeError {
  return new RangeError(`a bigint has more than ${MAX_BIGINT_DIGITS} digits`);
}
