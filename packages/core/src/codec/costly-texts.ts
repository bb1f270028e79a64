import { longestText } from "./backtracking.js";
import { MAX_BIGINT_DIGITS } from "../msgpack/big-int.js";

// Finds texts that would keep zod, or a platform function that it calls, busy for too long. Codecs refuse values with
// such texts before they pass them to zod.

/** Maximum characters of an IPv6 address with its prefix length. Valid ones have at most 49. */
const MAX_ADDRESS = 100;
/** Maximum consecutive combining marks. Platforms sort them in quadratic time; according to Unicode, 30 are enough. */
const MAX_MARKS = 100;
const MANY_MARKS = new RegExp(`(?<!\\p{M})\\p{M}{${MAX_MARKS + 1}}`, "u");
/**
 * Matches the source of a function that normalizes text. zod gives such a check no name by which it could be detected.
 */
const NORMALIZES = /\.normalize\(/;
const MANY_DIGITS = new RegExp(`^\\s*[-+]?\\d{${MAX_BIGINT_DIGITS + 1}}`);
/**
 * Matches the characters that both alternatives of zod's emoji pattern match in some versions: each doubles the
 * matching time.
 */
const HAIR = /[\u{1F9B0}-\u{1F9B3}]/gu;
const MAX_HAIR = 16;

/**
 * Maximum characters of a URL's host and port. URL parsers convert a host to ASCII in quadratic time; valid host names
 * have at most 253 characters.
 */
const MAX_HOST = 300;
/**
 * Matches a URL up to its path, if its scheme is one whose host parsers convert to ASCII. Parsers skip the white space
 * and control characters before the scheme.
 */
const AUTHORITY = /^[\s\p{Cc}]*(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/iu;

const LONG_HOST = `invalid URL: its host has more than ${MAX_HOST} characters`;

export function hasLongHost(text: string): boolean {
  if (text.length <= MAX_HOST) return false;
  // URL parsers ignore these characters everywhere.
  const [, authority = ""] = AUTHORITY.exec(text.replaceAll(/[\t\n\r]/g, "")) ?? [];
  return authority.length - (authority.lastIndexOf("@") + 1) > MAX_HOST;
}

/** The fields of a zod schema's or check's definition that this file reads. */
interface Definition {
  readonly type?: string;
  readonly format?: string;
  readonly check?: string;
  readonly coerce?: boolean;
  readonly pattern?: RegExp;
  readonly tx?: unknown;
  readonly checks?: readonly unknown[];
  readonly options?: readonly unknown[];
  readonly items?: readonly unknown[];
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly property?: string;
  readonly [part: string]: unknown;
}

interface Internals {
  readonly def: Definition;
  readonly pattern?: RegExp;
  /** The schema that a lazy schema returns. */
  readonly innerType?: unknown;
}

/** A kind of zod schema or check that takes long for some texts. */
interface Hazard {
  readonly isOf: (internals: Internals) => boolean;
  readonly isIn: (text: string, internals: Internals) => boolean;
  readonly message: string;
}

const HAZARDS: readonly Hazard[] = [
  { isOf: ({ def }) => def.format === "url", isIn: hasLongHost, message: LONG_HOST },
  {
    // Some versions of zod build a URL from the text, which may then contain any host.
    isOf: ({ def }) => def.format === "ipv6" || def.format === "cidrv6",
    isIn: (text) => text.length > MAX_ADDRESS,
    message: `invalid address: it has more than ${MAX_ADDRESS} characters`,
  },
  {
    isOf: ({ def }) => def.format === "emoji" && String(def.pattern).includes("|"),
    isIn: (text) => (text.match(HAIR) ?? []).length > MAX_HAIR,
    message: `invalid emoji: it has more than ${MAX_HAIR} hair components`,
  },
  {
    isOf: ({ def }) => def.type === "bigint" && def.coerce === true,
    isIn: (text) => text.length > MAX_BIGINT_DIGITS && MANY_DIGITS.test(text),
    message: `invalid bigint: it has more than ${MAX_BIGINT_DIGITS} digits`,
  },
  {
    isOf: ({ def }) => def.check === "overwrite" && NORMALIZES.test(String(def.tx)),
    isIn: (text) => text.length > MAX_MARKS && MANY_MARKS.test(text),
    message: `invalid text: it has more than ${MAX_MARKS} combining marks in a row`,
  },
  {
    isOf: ({ def, pattern }) =>
      def.type === "template_literal" && pattern !== undefined && longestText(pattern) < Infinity,
    isIn: (text, { pattern }) => pattern !== undefined && text.length > longestText(pattern),
    message: "invalid template literal: the text is too long to be matched",
  },
];

/** The issue about a text that would take zod too long, so that it is not passed to zod. */
export interface CostlyText {
  readonly code: "invalid_format";
  readonly path: PropertyKey[];
  readonly message: string;
}

/**
 * Finds a text in `value` for which parsing with the zod schema `schema` would take too long. Does not run transforms:
 * a schema that follows one is compared with the transform's input.
 */
export function costlyText(schema: unknown, value: unknown): CostlyText | undefined {
  return search(schema, value, true);
}

/** Finds a text in `value` for which the zod check `check` would take too long. */
export function costlyForCheck(check: unknown, value: unknown): CostlyText | undefined {
  return search(check, value, false);
}

function search(schema: unknown, value: unknown, withChecks: boolean): CostlyText | undefined {
  const internals = internalsOf(schema);
  return internals !== undefined && hasHazards(internals) ? new Search().inside(schema, value, withChecks) : undefined;
}

class Search {
  /**
   * Objects already compared with each schema. It prevents endless recursion, since values and schemas may refer to
   * themselves.
   */
  readonly #seen = new Map<Internals, Set<unknown>>();

  inside(schema: unknown, given: unknown, withChecks: boolean): CostlyText | undefined {
    const internals = internalsOf(schema);
    if (internals === undefined || !hasHazards(internals)) return undefined;
    const { def, innerType = def["innerType"] } = internals;
    const value = def.coerce === true ? coerced(given) : given;
    const message = typeof value === "string" ? messageOf(internals, value) : undefined;
    if (message !== undefined) return { code: "invalid_format", path: [], message };
    for (const part of [...(withChecks ? (def.checks ?? []) : []), ...sameValue(def), innerType]) {
      const found = this.inside(part, value, true);
      if (found !== undefined) return found;
    }
    return isIterated(value) ? this.#parts(internals, value) : undefined;
  }

  #parts(internals: Internals, value: object): CostlyText | undefined {
    const seen = this.#seen.get(internals) ?? new Set();
    this.#seen.set(internals, seen);
    if (seen.has(value)) return undefined;
    seen.add(value);
    const { def } = internals;
    for (const [key, each] of entriesOf(value)) {
      const part = key === def.property ? def["schema"] : partAt(def, key);
      const found = this.inside(def["keyType"], key, true) ?? this.inside(part, each, true);
      if (found === undefined) continue;
      found.path.unshift(key as PropertyKey);
      return found;
    }
    return undefined;
  }
}

/**
 * Returns the schemas inside a definition that parse the same value as the schema itself, such as the options of a
 * union.
 */
function sameValue(def: Definition): unknown[] {
  return [def["in"], def["out"], def["left"], def["right"], ...(def.options ?? [])];
}

function partAt(def: Definition, key: unknown): unknown {
  const { shape, items } = def;
  if (shape !== undefined && Object.hasOwn(shape, key as string)) return shape[key as string];
  return items?.[key as number] ?? def["rest"] ?? def["valueType"] ?? def["element"] ?? def["catchall"];
}

function entriesOf(value: object): Iterable<readonly [unknown, unknown]> {
  return Array.isArray(value) || value instanceof Map || value instanceof Set ? value.entries() : Object.entries(value);
}

function isIterated(value: unknown): value is object {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

function internalsOf(schema: unknown): Internals | undefined {
  return (schema as { readonly _zod?: Internals } | null | undefined)?._zod;
}

function messageOf(internals: Internals, text: string): string | undefined {
  return HAZARDS.find(({ isOf, isIn }) => isOf(internals) && isIn(text, internals))?.message;
}

/** Returns the text to which zod's string coercion converts an array; returns other values unchanged. */
function coerced(value: unknown): unknown {
  try {
    return Array.isArray(value) ? String(value) : value;
  } catch {
    return value;
  }
}

const hazardous = new WeakMap<Internals, boolean>();

function hasHazards(internals: Internals): boolean {
  let answer = hazardous.get(internals);
  if (answer !== undefined) return answer;
  const found = new Set([internals]);
  answer = false;
  for (const each of found) {
    answer = hazardous.get(each) ?? HAZARDS.some(({ isOf }) => isOf(each));
    if (answer) break;
    const { def, innerType = def["innerType"] } = each;
    const { checks = [], items = [], shape = {} } = def;
    const names = ["schema", "keyType", "valueType", "element", "rest", "catchall"];
    for (const part of [
      innerType,
      ...checks,
      ...items,
      ...Object.values(shape),
      ...names.map((name) => def[name]),
      ...sameValue(def),
    ]) {
      const inside = internalsOf(part);
      if (inside !== undefined) found.add(inside);
    }
  }
  if (answer) hazardous.set(internals, true);
  else for (const each of found) hazardous.set(each, false);
  return answer;
}
