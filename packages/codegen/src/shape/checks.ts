import { type AnySchema, defOf } from "../types/zod.js";
import type { Checks } from "./shape.js";

/** The fields of zod's check definitions that are read here. */
interface CheckDef {
  readonly check?: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly length?: number;
  readonly size?: number;
}

/** String checks that are patterns rather than formats with a name. */
const PATTERN_FORMATS: ReadonlySet<string> = new Set([
  "regex",
  "starts_with",
  "ends_with",
  "includes",
  "lowercase",
  "uppercase",
]);
const INTEGER_FORMATS: Readonly<Record<string, string>> = { safeint: "integer", int64: "int64", uint64: "uint64" };

/** Options of formats that make them take less. */
const NARROWING = ["version", "precision", "alg", "delimiter", "protocol", "hostname"] as const;
/** Those that make them take more. */
export const WIDENING: ReadonlySet<string> = new Set(["offset", "local"]);

type Options = NonNullable<Checks["options"]>;
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * The checks of `schema` itself, bounds merged to the strictest of each kind; undefined where it has none.
 *
 * @param from the number of the first of its added checks that is looked at, which leaves out its own
 */
export function checksOf(schema: AnySchema, from?: number): Checks | undefined {
  const def = defOf(schema) as unknown as CheckDef & { readonly type: string };
  const checks: Mutable<Checks> = {};
  if (from === undefined && def.check !== undefined && def.type !== "custom") addCheck(checks, def, schema);
  for (const each of (defOf(schema).checks ?? []).slice(from)) {
    addCheck(checks, each._zod.def, each);
  }
  return Object.keys(checks).length === 0 ? undefined : checks;
}

/** The demands of both. */
export function mergeChecks(a: Checks | undefined, b: Checks): Checks {
  if (a === undefined) return b;
  const merged: Mutable<Checks> = { ...a };
  bound(merged, "min", b.min, "greatest");
  bound(merged, "above", b.above, "greatest");
  bound(merged, "max", b.max, "least");
  bound(merged, "below", b.below, "least");
  if (b.multipleOf !== undefined) merged.multipleOf = joined(a.multipleOf, b.multipleOf);
  if (b.format !== undefined) merged.format = String(joined(a.format, b.format));
  if (b.options !== undefined) merged.options = bothOptions(a.options, b.options);
  if (b.patterns !== undefined) merged.patterns = [...(a.patterns ?? []), ...b.patterns].sort();
  if (b.custom !== undefined) merged.custom = (a.custom ?? 0) + b.custom;
  if (b.lenient !== undefined) merged.lenient = b.lenient;
  return merged;
}

function addCheck(checks: Mutable<Checks>, def: CheckDef, of: object): void {
  switch (def.check) {
    case "greater_than":
      return bound(checks, def.inclusive === true ? "min" : "above", def.value, "greatest");
    case "less_than":
      return bound(checks, def.inclusive === true ? "max" : "below", def.value, "least");
    case "min_length":
    case "min_size":
      // No length is less than 0.
      return bound(checks, "min", def.minimum || undefined, "greatest");
    case "max_length":
    case "max_size":
      return bound(checks, "max", def.maximum, "least");
    case "length_equals":
    case "size_equals":
      bound(checks, "min", (def.length ?? def.size) || undefined, "greatest");
      return bound(checks, "max", def.length ?? def.size, "least");
    case "multiple_of":
      checks.multipleOf = joined(checks.multipleOf, scalar(def.value));
      return;
    case "number_format":
    case "bigint_format":
      checks.format = String(joined(checks.format, INTEGER_FORMATS[def.format ?? ""] ?? def.format ?? "number"));
      return;
    case "string_format":
      if (PATTERN_FORMATS.has(def.format ?? "") && def.pattern !== undefined) {
        checks.patterns = [...(checks.patterns ?? []), String(def.pattern)].sort();
      } else if (def.format !== undefined) {
        checks.format = String(joined(checks.format, def.format));
        const options = optionsOf(def, of);
        if (options !== undefined) checks.options = bothOptions(checks.options, options);
      }
      return;
    case "custom":
    case "property":
    case "properties":
      checks.custom = (checks.custom ?? 0) + 1;
      return;
    default:
  }
}

/** Both demands, where they differ. */
function joined(a: number | string | undefined, b: number | string): number | string {
  if (a === undefined) return b;
  return [...new Set([...demandsIn(a), String(b)])].sort().join(" and ");
}

/** The demands that `joined` has put into one: several formats or steps. */
export function demandsIn(demands: number | string | undefined): string[] {
  return demands === undefined ? [] : String(demands).split(" and ");
}

/** The key of a format's option among those of all formats. */
function keyOfOption(format: string, name: string): string {
  return `${format}.${name}`;
}

/** The format and the name of an option, by its key: a format of the user's may have dots in its name. */
export function optionOfKey(key: string): [format: string, name: string] {
  const dot = key.lastIndexOf(".");
  return [key.slice(0, dot), key.slice(dot + 1)];
}

function bothOptions(a: Options = {}, b: Options): Options {
  const both = Object.entries(b).map(([key, value]) => [key, String(joined(a[key], value))] as const);
  return { ...a, ...Object.fromEntries(both) };
}

/** Returns what a format was asked for with; undefined where that is nothing. */
function optionsOf(def: CheckDef, of: object): Options | undefined {
  const given = def as Readonly<Record<string, unknown>>;
  const { format = "", pattern } = def;
  const options: Record<string, string> = {};
  for (const key of [...NARROWING, ...WIDENING]) {
    const value = given[key];
    if (typeof value === "string" || typeof value === "number" || value === true || value instanceof RegExp) {
      options[keyOfOption(format, key)] = String(value);
    }
  }
  if (pattern !== undefined && String(pattern) !== usualPattern(def, of))
    options[keyOfOption(format, "pattern")] = String(pattern);
  return Object.keys(options).length === 0 ? undefined : options;
}

/** The pattern that zod has for a format itself, which differs between its versions. */
function usualPattern(def: CheckDef, of: object): string | undefined {
  const { constr } = (of as { readonly _zod: { readonly constr?: unknown } })._zod;
  const { pattern: _, checks: __, ...rest } = def as CheckDef & { readonly checks?: unknown };
  try {
    const usual = new (constr as new (def: object) => { readonly _zod: { readonly def: CheckDef } })(rest);
    return String(usual._zod.def.pattern);
  } catch {
    return undefined;
  }
}

function bound(
  checks: Mutable<Checks>,
  key: "min" | "max" | "above" | "below",
  value: unknown,
  keep: "least" | "greatest",
): void {
  if (value === undefined) return;
  const next = typeof value === "string" ? value : scalar(value);
  const present = checks[key];
  if (present === undefined || (keep === "least" ? isLess(next, present) : isLess(present, next))) checks[key] = next;
}

/** Whether a bound is less than another: those of bigints are text. */
function isLess(a: number | string, b: number | string): boolean {
  return typeof a === "string" && typeof b === "string" ? BigInt(a) < BigInt(b) : Number(a) < Number(b);
}

/** A bound as JSON: dates are milliseconds, bigints decimal digits. */
function scalar(value: unknown): number | string {
  if (value instanceof Date) return value.getTime();
  return typeof value === "bigint" ? String(value) : Number(value);
}
