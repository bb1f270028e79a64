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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The checks of `schema` itself, bounds merged to the strictest of each kind; undefined where it has none. */
export function checksOf(schema: AnySchema): Checks | undefined {
  const def = defOf(schema) as unknown as CheckDef & { readonly type: string };
  const checks: Mutable<Checks> = {};
  const own = def.check === undefined || def.type === "custom" ? [] : [def];
  const added = (defOf(schema).checks ?? []).map((each) => each._zod.def as unknown as CheckDef);
  for (const each of [...own, ...added]) addCheck(checks, each);
  return Object.keys(checks).length === 0 ? undefined : checks;
}

function addCheck(checks: Mutable<Checks>, def: CheckDef): void {
  switch (def.check) {
    case "greater_than":
      return bound(checks, def.inclusive === true ? "min" : "above", def.value, "greatest");
    case "less_than":
      return bound(checks, def.inclusive === true ? "max" : "below", def.value, "least");
    case "min_length":
    case "min_size":
      return bound(checks, "min", def.minimum, "greatest");
    case "max_length":
    case "max_size":
      return bound(checks, "max", def.maximum, "least");
    case "length_equals":
    case "size_equals":
      bound(checks, "min", def.length ?? def.size, "greatest");
      return bound(checks, "max", def.length ?? def.size, "least");
    case "multiple_of":
      checks.multipleOf = scalar(def.value);
      return;
    case "number_format":
    case "bigint_format":
      checks.format = INTEGER_FORMATS[def.format ?? ""] ?? def.format ?? "number";
      return;
    case "string_format":
      if (PATTERN_FORMATS.has(def.format ?? "") && def.pattern !== undefined) {
        checks.patterns = [...(checks.patterns ?? []), String(def.pattern)].sort();
      } else if (def.format !== undefined) {
        checks.format = def.format;
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

function bound(
  checks: Mutable<Checks>,
  key: "min" | "max" | "above" | "below",
  value: unknown,
  keep: "least" | "greatest",
): void {
  const next = scalar(value);
  const present = checks[key];
  if (present === undefined || (keep === "least" ? Number(next) < Number(present) : Number(next) > Number(present))) {
    checks[key] = next;
  }
}

/** A bound as JSON: dates are milliseconds, bigints decimal digits. */
function scalar(value: unknown): number | string {
  if (value instanceof Date) return value.getTime();
  return typeof value === "bigint" ? String(value) : Number(value);
}
