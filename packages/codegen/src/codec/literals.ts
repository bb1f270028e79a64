import { keyText, quoted } from "../print/text.js";

/** Returns a JavaScript expression for `value`. It creates a new value each time it is evaluated. */
export function expression(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "string") return quoted(value);
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number") return String(value).replace("e+", "e");
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (Array.isArray(value)) return `[${value.map(expression).join(", ")}]`;
  const entries = Object.entries(value).map(([key, each]) => `${keyText(key)}: ${expression(each)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

/** Returns the bytes of an object key as MessagePack in its shortest form, with which the runtime's `Keys` compares. */
export function keyBytes(name: string): readonly number[] {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const utf8 = [...new TextEncoder().encode(name)];
  const { length } = utf8;
  const header =
    length < 32 ? [0xa0 | length] : length < 256 ? [0xd9, length] : [0xda, (length >> 8) & 0xff, length & 0xff];
  const bytes = [...header, ...utf8];
  keys.set(name, bytes);
  return bytes;
}

const keys = new Map<string, readonly number[]>();

/** Returns the bytes of a MessagePack map header with `size` entries, which must be fewer than 2^16. */
export function mapHeader(size: number): number[] {
  return size < 16 ? [0x80 | size] : [0xde, size >> 8, size & 0xff];
}

export function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}

export function offset(position: string, by: number): string {
  return by === 0 ? position : `${position} + ${by}`;
}
