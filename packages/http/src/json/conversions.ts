import { type Check, isObject, type Mode, MAX_BIGINT_DIGITS, readIsoDate, fromBase64 } from "@quicrpc/core/internal";
import { misfit } from "@quicrpc/core/codec";

/** Decodes base64 of either alphabet, with or without padding. Returns undefined if `text` is invalid. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  // The platform's decoder would ignore white space.
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Parses an integer in decimal digits. Returns undefined if `text` is invalid, or has more digits than a bigint may have. */
export function bigintOf(text: string): bigint | undefined {
  return text.length <= MAX_BIGINT_DIGITS + 1 && /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

function numberOf(text: string): number | undefined {
  const number = Number(text);
  return String(number) === text ? number : undefined;
}

function ofText<T>(read: (text: string) => T | undefined): (value: unknown) => unknown {
  return (value) => (typeof value === "string" ? (read(value) ?? value) : value);
}

function toBigint(value: unknown): unknown {
  return Number.isSafeInteger(value) ? BigInt(value as number) : ofText(bigintOf)(value);
}

export function checking<Out>(convert: (value: unknown) => Out, checks: readonly Check[]): (value: unknown) => Out {
  if (checks.length === 0) return convert;
  return (value) => {
    const converted = convert(value);
    requireAll(checks, value);
    return converted;
  };
}

export function requireAll(checks: readonly Check[], value: unknown): void {
  for (const check of checks) if (check.test(value) !== undefined) misfit();
}

/** Mode for map keys, which are strings in JSON. */
const keys: Mode = {
  number: ofText(numberOf),
  bigint: ofText(bigintOf),
  literal: (value, values) => values.find((each) => typeof each !== "string" && String(each) === value) ?? value,
};

/** Mode for plain JSON: converts strings to dates, bytes and bigints, and objects to maps. */
export const jsonMode: Mode = {
  date: ofText(readIsoDate),
  bytes: ofText(bytesOfBase64),
  bigint: toBigint,
  map: (value) => (isObject(value) ? new Map(Object.entries(value)) : value),
  literal(value, values) {
    const converted = toBigint(value);
    return values.includes(converted) ? converted : value;
  },
  keys,
  says: {
    date: "a time such as 2026-01-31T12:00:00Z",
    Uint8Array: "bytes in base64",
    bigint: "an integer as text",
    set: "array",
    map: "object",
  },
};
