import type { CheckNode } from "../schema/node.js";
import type { Checks } from "./shape.js";

/** Formats whose regular expression the author has written, in contrast to named formats. */
const PATTERNS: ReadonlySet<string> = new Set(["regex", "lowercase", "uppercase"]);
/** Options that make a format accept more values. Other options restrict it. */
export const WIDENING: ReadonlySet<string> = new Set(["offset", "local"]);
/** Options that make a format accept different values. */
export const CHANGING: ReadonlySet<string> = new Set(["delimiter", "pattern"]);

type Options = NonNullable<Checks["options"]>;
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Returns a summary of `checks` with the strictest bound of each kind; undefined if there are none. */
export function summaryOf(checks: readonly CheckNode[]): Checks | undefined {
  const summary: Mutable<Checks> = {};
  for (const [index, check] of checks.entries()) {
    if (check.kind === "overwrite") {
      // Checks after this function apply to its result.
      const changed = summaryOf(checks.slice(index + 1));
      if (changed !== undefined) summary.changed = check.by === undefined ? changed : { by: check.by, ...changed };
      break;
    }
    addCheck(summary, check);
  }
  return Object.keys(summary).length === 0 ? undefined : summary;
}

/** Returns the summary of two sets of checks that both apply. */
export function mergeChecks(a: Checks | undefined, b: Checks): Checks {
  if (a === undefined) return b;
  const merged: Mutable<Checks> = { ...a };
  for (const key of ["min", "above", "max", "below"] as const) bound(merged, key, b[key]);
  if (b.multipleOf !== undefined) merged.multipleOf = joined(a.multipleOf, b.multipleOf);
  if (b.format !== undefined) merged.format = String(joined(a.format, b.format));
  if (b.options !== undefined) merged.options = bothOptions(a.options, b.options);
  if (b.patterns !== undefined) merged.patterns = [...(a.patterns ?? []), ...b.patterns].sort();
  if (b.custom !== undefined) merged.custom = (a.custom ?? 0) + b.custom;
  if (b.lenient !== undefined) merged.lenient = b.lenient;
  if (b.changed !== undefined) merged.changed = mergeChecks(a.changed, b.changed);
  if (b.others !== undefined) merged.others = [...new Set([...(a.others ?? []), ...b.others])].sort();
  return merged;
}

const BOUNDS = { atLeast: "min", moreThan: "above", atMost: "max", lessThan: "below" } as const;

function addCheck(checks: Mutable<Checks>, check: CheckNode): void {
  if ("size" in check) {
    // A minimum length of 0 is no restriction.
    if (check.kind !== "maxSize") bound(checks, "min", check.size || undefined);
    if (check.kind !== "minSize") bound(checks, "max", check.size);
  } else if ("bound" in check) {
    if (check.format === undefined) bound(checks, BOUNDS[check.kind], check.bound);
    else addFormat(checks, check.format);
  } else if ("part" in check) addPattern(checks, check.regex);
  else if (check.kind === "multipleOf") checks.multipleOf = joined(checks.multipleOf, scalar(check.step));
  else if (check.kind === "custom") checks.custom = (checks.custom ?? 0) + 1;
  else if (check.kind === "integer") addFormat(checks, check.format);
  else if (check.kind === "pattern" || check.kind === "format") {
    const { regex, format, options } = check;
    if (regex !== undefined && PATTERNS.has(format)) return addPattern(checks, regex);
    addFormat(checks, format);
    if (options !== undefined) checks.options = bothOptions(checks.options, keyed(format, options));
  }
}

function addFormat(checks: Mutable<Checks>, format: string): void {
  checks.format = String(joined(checks.format, format));
}

function addPattern(checks: Mutable<Checks>, regex: RegExp): void {
  checks.patterns = [...(checks.patterns ?? []), String(regex)].sort();
}

/** Combines two formats or two steps that both apply: joined by "and" if they differ. */
function joined(a: number | string | undefined, b: number | string): number | string {
  if (a === undefined) return b;
  return [...new Set([...demandsIn(a), String(b)])].sort().join(" and ");
}

/** Splits formats or steps that `joined` has combined. */
export function demandsIn(demands: number | string | undefined): string[] {
  return demands === undefined ? [] : String(demands).split(" and ");
}

/** Returns the options of a format under the keys `format.name`, which are unique among all formats. */
function keyed(format: string, options: Options): Options {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [`${format}.${name}`, value]));
}

/** Splits the key of an option into the format and the option's name. Names of custom formats may contain dots. */
export function optionOfKey(key: string): [format: string, name: string] {
  const dot = key.lastIndexOf(".");
  return [key.slice(0, dot), key.slice(dot + 1)];
}

function bothOptions(a: Options = {}, b: Options): Options {
  const both = Object.entries(b).map(([key, value]) => [key, String(joined(a[key], value))] as const);
  return { ...a, ...Object.fromEntries(both) };
}

/** Adds a bound, unless `checks` contains a stricter one. */
function bound(checks: Mutable<Checks>, key: "min" | "max" | "above" | "below", value: unknown): void {
  if (value === undefined) return;
  const next = typeof value === "string" ? value : scalar(value);
  const present = checks[key];
  const isUpper = key === "max" || key === "below";
  if (present === undefined || (isUpper ? isLess(next, present) : isLess(present, next))) checks[key] = next;
}

/** Returns true if the bound `a` is less than `b`. Bounds of bigints are texts. */
function isLess(a: number | string, b: number | string): boolean {
  return typeof a === "string" && typeof b === "string" ? BigInt(a) < BigInt(b) : Number(a) < Number(b);
}

/** Converts a bound to its JSON value: dates to milliseconds, bigints to decimal digits. */
function scalar(value: unknown): number | string {
  if (value instanceof Date) return value.getTime();
  return typeof value === "bigint" ? String(value) : Number(value);
}
