// Texts with which zod, or what it calls, would be busy for longer than a server can wait: they are looked for before zod sees a value.
import { linear } from "./linear-pattern.js";
import { MAX_BIGINT_DIGITS } from "../msgpack/big-int.js";
import { hasLongHost, LONG_HOST } from "./url-hosts.js";

/** Combining marks in a row. Platforms put those of a text in order by the square of their number; the Unicode standard has 30 be enough. */
const MAX_MARKS = 100;
const MANY_MARKS = new RegExp(`(?<!\\p{M})\\p{M}{${MAX_MARKS + 1}}`, "u");
/** By the text of the function: zod says nothing else of it. */
const NORMALIZES = /\.normalize\(/;
const MANY_DIGITS = new RegExp(`^\\s*[-+]?\\d{${MAX_BIGINT_DIGITS + 1}}`);

/** The parts of zod's definition of a schema or a check that tell a hazard. */
interface Definition {
  readonly type?: string;
  readonly format?: string;
  readonly check?: string;
  readonly coerce?: boolean;
  readonly tx?: unknown;
}

/** A kind of texts that schemas of a kind take long for. */
interface Hazard {
  readonly isOf: (definition: Definition) => boolean;
  readonly isIn: (text: string) => boolean;
  readonly message: string;
}

const HAZARDS: readonly Hazard[] = [
  { isOf: ({ format }) => format === "url", isIn: hasLongHost, message: LONG_HOST },
  {
    isOf: ({ type, coerce }) => type === "bigint" && coerce === true,
    isIn: (text) => text.length > MAX_BIGINT_DIGITS && MANY_DIGITS.test(text),
    message: `invalid bigint: it has more than ${MAX_BIGINT_DIGITS} digits`,
  },
  {
    isOf: ({ check, tx }) => check === "overwrite" && NORMALIZES.test(String(tx)),
    isIn: (text) => text.length > MAX_MARKS && MANY_MARKS.test(text),
    message: `invalid text: it has more than ${MAX_MARKS} combining marks in a row`,
  },
];

/** Returns why a value, or a text in it, which may be a key, would keep zod busy; undefined where nothing would. */
export type Costly = (value: unknown) => string | undefined;

/**
 * Finds the texts for which zod would take long with `schema`, or with what is inside it. The patterns of its template literals take time that
 * grows with a text's length from here on.
 */
export function costlyFor(schema: unknown): Costly {
  const hazards = new Set<Hazard>();
  look(schema, hazards, new Set());
  return (value) => (hazards.size === 0 ? undefined : [...hazards].find((each) => holds(value, each.isIn))?.message);
}

/** Why `value` would keep a check of zod's busy, which `definition` is of. */
export function costlyForCheck(definition: Definition, value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return HAZARDS.find((each) => each.isOf(definition) && each.isIn(value))?.message;
}

function look(schema: unknown, hazards: Set<Hazard>, seen: Set<unknown>): void {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return;
  seen.add(schema);
  const { _zod: internals } = schema as { readonly _zod?: Internals };
  if (internals === undefined) {
    if (isPlain(schema)) for (const part of Object.values(schema)) look(part, hazards, seen);
    return;
  }
  const { def, pattern } = internals;
  if (def.type === "template_literal" && pattern !== undefined) linear(pattern);
  for (const each of HAZARDS) if (each.isOf(def)) hazards.add(each);
  // What a lazy schema is made of is made once.
  for (const part of def.type === "lazy" ? [internals.innerType] : Object.values(def)) look(part, hazards, seen);
}

interface Internals {
  readonly def: Definition;
  readonly pattern?: RegExp;
  readonly innerType?: unknown;
}

/** Whether a part of a definition may hold schemas. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

function holds(value: unknown, isIn: (text: string) => boolean): boolean {
  if (typeof value === "string") return isIn(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  if (Array.isArray(value)) return value.some((each) => holds(each, isIn));
  if (value instanceof Map || value instanceof Set) return [...value].some((each) => holds(each, isIn));
  return Object.entries(value).some(([key, each]) => isIn(key) || holds(each, isIn));
}
