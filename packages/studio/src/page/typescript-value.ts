import { toBase64 } from "@quicrpc/services/json-schema";

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const INDENT = "  ";
/** Maximum number of characters of an array or object on one line. */
const MAX_LINE = 80;
/** Maximum number of bytes that are written as a list of numbers. More bytes are written as base64. */
const MAX_NUMBERS = 32;

/** Returns a value as TypeScript source text. */
export function typeScriptOf(value: unknown, indent: string = ""): string {
  switch (typeof value) {
    case "bigint":
      return `${value}n`;
    case "undefined":
      return "undefined";
    case "object":
      return value === null ? "null" : objectText(value, indent);
    default:
      return JSON.stringify(value);
  }
}

function objectText(value: object, indent: string): string {
  const inner = (element: unknown): string => typeScriptOf(element, indent + INDENT);
  if (value instanceof Date) return `new Date(${JSON.stringify(value.toISOString())})`;
  if (value instanceof Uint8Array) return bytesText(value);
  if (Array.isArray(value)) return enclosed("[", value.map(inner), "]", indent);
  if (value instanceof Set)
    return value.size === 0 ? "new Set()" : `new Set(${enclosed("[", Array.from(value, inner), "]", indent)})`;
  if (value instanceof Map) {
    const pairs = Array.from(value, ([key, element]) => `[${inner(key)}, ${inner(element)}]`);
    return value.size === 0 ? "new Map()" : `new Map(${enclosed("[", pairs, "]", indent)})`;
  }
  const members = Object.entries(value).map(([name, member]) => `${nameText(name)}: ${inner(member)}`);
  return members.length === 0 ? "{}" : enclosed("{ ", members, " }", indent);
}

/**
 * Returns a member name as TypeScript source text. `"__proto__"` is written as a computed name, because `"__proto__":
 * x` would set the object's prototype.
 */
function nameText(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}

function bytesText(bytes: Uint8Array): string {
  if (bytes.length <= MAX_NUMBERS) return `Uint8Array.of(${bytes.join(", ")})`;
  return `Uint8Array.from(atob(${JSON.stringify(toBase64(bytes))}), (each) => each.charCodeAt(0))`;
}

function enclosed(open: string, parts: readonly string[], close: string, indent: string): string {
  const line = open + parts.join(", ") + close;
  if (line.length + indent.length <= MAX_LINE && !line.includes("\n")) return line;
  const within = indent + INDENT;
  return `${open.trim()}\n${parts.map((part) => `${within}${part},\n`).join("")}${indent}${close.trim()}`;
}
