/**
 * Maximum decimal digits of a bigint, in codecs that carry more than 64 bits. Converting the digits takes time
 * proportional to their square.
 */
export const MAX_BIGINT_DIGITS = 2500;
/** Maximum bytes of a bigint in two's complement: enough for `MAX_BIGINT_DIGITS` digits. */
const MAX_BIGINT_BYTES = 1040;

/** Throws `RangeError` if a bigint has more than `MAX_BIGINT_DIGITS` decimal digits. */
export function requireModestBigInt(value: bigint): void {
  if (BigInt.asIntN(64, value) === value) return;
  const limit = 10n ** BigInt(MAX_BIGINT_DIGITS);
  if (value >= limit || value <= -limit) throw tooManyDigits();
}

/** Returns the bigint whose two's complement is `bytes`, big-endian. Throws `RangeError` if it is too long. */
export function bigIntOf(bytes: Uint8Array): bigint {
  if (bytes.length > MAX_BIGINT_BYTES) throw tooManyDigits();
  let hex = "0x0";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return BigInt.asIntN(bytes.length * 8, BigInt(hex));
}

export function tooManyDigits(): RangeError {
  return new RangeError(`a bigint has more than ${MAX_BIGINT_DIGITS} digits`);
}
