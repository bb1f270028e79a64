import { misfit } from "@quicrpc/core/codec";
import { isObject } from "@quicrpc/core/internal";

/**
 * Matches characters that must be escaped in JSON. It also matches paired surrogates, although only unpaired ones must
 * be escaped.
 */
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

export function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Returns the JSON of a plain value, without undefined properties. Throws the mismatch error for other values. */
export function plainText(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return Number.isFinite(value) ? `${value}` : misfit();
    case "boolean":
      return `${value}`;
    case "object":
      return value === null ? "null" : containerText(value);
    default:
      return misfit();
  }
}

function containerText(value: object): string {
  if (Array.isArray(value)) return `[${value.map(plainText).join()}]`;
  const { constructor } = value;
  if (!isObject(value) || (typeof constructor === "function" && constructor !== Object)) return misfit();
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([key, field]) => `${quote(key)}:${plainText(field)}`).join()}}`;
}
