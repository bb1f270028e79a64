import { type Mode, MAX_BIGINT_DIGITS, readIsoDate } from "@quicrpc/core/generated";
import { fromBase64 } from "@quicrpc/core/transport";

/** Reads bytes in base64, of either alphabet, with padding or without. Undefined where `text` is something else. */
export function bytesOf(text: string): Uint8Array | undefined {
  // A platform's own decoder would pass over white space.
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}

/** Reads an integer in decimal digits. Undefined where `text` is something else, or has more digits than a bigint may. */
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

/** Whether a JSON value is an object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The keys of an object in JSON, which are text there. */
const keys: Mode = {
  number: ofText(numberOf),
  bigint: ofText(bigintOf),
  literal: (value, values) => values.find((each) => typeof each !== "string" && String(each) === value) ?? value,
};

/** JSON as people write it: how values that it lacks come out of those that it has. */
export const jsonMode: Mode = {
  date: ofText(readIsoDate),
  bytes: ofText(bytesOf),
  bigint: toBigint,
  map: (value) => (isJsonObject(value) ? new Map(Object.entries(value)) : value),
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
