import {
  add,
  type Facts,
  isAborted,
  isExplicitlyAborted,
  type Shape,
  type ShapeIssue,
  type ShapePayload,
} from "./shape.js";

/** A condition that a value of the right type must meet, such as a minimum or a pattern. */
export interface Check {
  test(value: unknown): ShapeIssue | undefined;
  /**
   * True for a limit on length or size. It is checked even if elements are invalid; an upper limit is checked before
   * the elements are parsed.
   */
  readonly sized?: boolean;
  /** Maximum size that the check allows; undefined if it is not a check of size. */
  readonly cap?: number;
}

/** Returns a run-time schema that parses a value with `shape` and then runs `checks` on the result. */
export function checked(shape: Shape, checks: readonly Check[]): Shape {
  if (checks.length === 0) return shape;
  const size = shape.form.kind === "set" || shape.form.kind === "map" ? "size" : "length";
  return {
    ...shape,
    run(payload, mode) {
      return runChecks(shape.run(payload, mode), checks, size);
    },
  };
}

/**
 * Runs `checks` on `payload.value` and adds the issues of those that fail.
 * @param size name of the property that holds the size of a valid value; a value of another type is measured by it as
 * well
 */
function runChecks(payload: ShapePayload, checks: readonly Check[], size: "length" | "size"): ShapePayload {
  let aborted = isAborted(payload);
  for (const check of checks) {
    if (check.sized === true ? isExplicitlyAborted(payload) || !hasSize(payload.value, size) : aborted) continue;
    const issue = check.test(payload.value);
    if (issue === undefined) continue;
    add(payload, issue);
    aborted ||= issue.continue !== true;
  }
  return payload;
}

/**
 * Adds an issue if `size` exceeds one of the maximum sizes at the beginning of `checks`, and returns true if it did.
 * The caller then does not parse the value's elements.
 */
export function exceededCap(payload: ShapePayload, size: number, checks: readonly Check[]): boolean {
  for (const check of checks) {
    if (check.sized !== true) return false;
    if (check.cap === undefined || size <= check.cap) continue;
    const issue = check.test(payload.value);
    if (issue === undefined) continue;
    add(payload, { ...issue, continue: false });
    return true;
  }
  return false;
}

function hasSize(value: unknown, size: "length" | "size"): boolean {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[size] !== undefined;
}

function sizeOf(value: unknown): number | undefined {
  const { length, size } = value as { readonly length?: number; readonly size?: number };
  return length ?? size;
}

function measure(value: unknown): number {
  return typeof value === "string" ? codePoints(value) : (sizeOf(value) ?? 0);
}

/** Returns the number of code points of a string, which is how zod measures its length. */
function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  }
  return count;
}

/** Returns true if `text` has fewer than `length` code points. */
export function shorterThan(text: string, length: number): boolean {
  return text.length < length || (text.length < length * 2 && codePoints(text) < length);
}

/** Returns true if `text` has more than `length` code points. */
export function longerThan(text: string, length: number): boolean {
  return text.length > length && codePoints(text) > length;
}

/** Formats a size with its unit, such as "3 items". */
function sizeText(size: number, value: unknown): string {
  const unit = typeof value === "string" ? "character" : value instanceof Uint8Array ? "byte" : "item";
  return `${size} ${unit}${size === 1 ? "" : "s"}`;
}

/** Creates a check that requires at least `minimum` elements, entries or characters. */
export function minSize(minimum: number): Check {
  return sized("at least", { minimum });
}

/** Creates a check that allows at most `maximum` elements, entries or characters. */
export function maxSize(maximum: number): Check {
  return sized("at most", { maximum });
}

/** Creates a check that requires exactly `size` elements, entries or characters. */
export function exactSize(size: number): Check {
  return sized("exactly", { minimum: size, maximum: size, exact: true });
}

function sized(relation: string, limits: { minimum?: number; maximum?: number; exact?: true }): Check {
  const { minimum = 0, maximum = Infinity } = limits;
  return {
    sized: true,
    cap: maximum,
    test(value) {
      const size = measure(value);
      if (size >= minimum && size <= maximum) return undefined;
      const [refused, limit] = size > maximum ? [tooBig, maximum] : [tooSmall, minimum];
      return refused(`expected ${relation} ${sizeText(limit, value)}`, { input: value, ...limits });
    },
  };
}

/** Returns a copy of `check` that prevents all later checks if it fails, like zod's option `abort`. */
export function aborting(check: Check): Check {
  return {
    ...check,
    test(value) {
      const issue = check.test(value);
      return issue && { ...issue, continue: false };
    },
  };
}

type Comparable = number | bigint | Date;

export function atLeast(minimum: Comparable): Check {
  return bounded((value) => value >= minimum, tooSmall, "at least", minimum, { minimum: bound(minimum) });
}

export function atMost(maximum: Comparable): Check {
  return bounded((value) => value <= maximum, tooBig, "at most", maximum, { maximum: bound(maximum) });
}

export function moreThan(minimum: Comparable): Check {
  const facts = { minimum: bound(minimum), inclusive: false };
  return bounded((value) => value > minimum, tooSmall, "more than", minimum, facts);
}

export function lessThan(maximum: Comparable): Check {
  const facts = { maximum: bound(maximum), inclusive: false };
  return bounded((value) => value < maximum, tooBig, "less than", maximum, facts);
}

function bounded(
  fits: (value: Comparable) => boolean,
  refused: typeof tooSmall,
  relation: string,
  limit: Comparable,
  facts: Facts,
): Check {
  return {
    test: (value) =>
      fits(value as Comparable)
        ? undefined
        : refused(`expected ${relation} ${show(limit)}`, { input: value, ...facts }),
  };
}

/** Creates a check that requires a safe integer from `least` to `most`. */
export function integer(least: number = Number.MIN_SAFE_INTEGER, most: number = Number.MAX_SAFE_INTEGER): Check {
  const [lower, upper] = [atLeast(least), atMost(most)];
  return {
    test(value) {
      if (!Number.isInteger(value)) {
        const facts = { input: value, expected: "int" };
        return { code: "invalid_type", path: [], message: "expected an integer", continue: false, facts };
      }
      if (Number.isSafeInteger(value)) return lower.test(value) ?? upper.test(value);
      const facts = { input: value, origin: "int", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
      return ((value as number) > 0 ? tooBig : tooSmall)("expected a safe integer", facts);
    },
  };
}

export function multipleOf(step: number | bigint): Check {
  return {
    test: (value) => {
      if (isMultiple(value as number | bigint, step)) return undefined;
      const facts = { input: value, origin: typeof value, divisor: step };
      const message = `expected a multiple of ${step}`;
      return { code: "not_multiple_of", path: [], message, continue: true, facts };
    },
  };
}

/** Returns true if `value` is a multiple of `step`, allowing for the rounding error of decimal fractions. */
export function isMultiple(value: number | bigint, step: number | bigint): boolean {
  if (typeof value === "bigint") return typeof step === "bigint" && step !== 0n && value % step === 0n;
  const ratio = value / (step as number);
  const distance = ratio - Math.round(ratio);
  return distance === 0 || Math.abs(distance) < 4 * Number.EPSILON * Math.max(Math.abs(ratio), 1);
}

/** Creates a check that requires a text to match a regular expression. */
export function pattern(regex: RegExp, format = "pattern"): Check {
  const facts = { format: format === "pattern" ? "regex" : format, pattern: String(regex) };
  return formatted(format, facts, (text) => regex.test(text));
}

export function includes(part: string, position?: number): Check {
  return formatted("includes", { format: "includes", includes: part }, (text) => text.includes(part, position));
}

export function startsWith(start: string): Check {
  return formatted("starts_with", { format: "starts_with", prefix: start }, (text) => text.startsWith(start));
}

export function endsWith(end: string): Check {
  return formatted("ends_with", { format: "ends_with", suffix: end }, (text) => text.endsWith(end));
}

function formatted(format: string, facts: Facts, fits: (text: string) => boolean): Check {
  return {
    test: (value) => {
      if (fits(value as string)) return undefined;
      const message = `invalid ${format}`;
      return { code: "invalid_format", path: [], message, continue: true, facts: { input: value, ...facts } };
    },
  };
}

function tooSmall(message: string, facts: Facts): ShapeIssue {
  return { code: "too_small", path: [], message: `too small: ${message}`, continue: true, facts: bounds(facts) };
}

function tooBig(message: string, facts: Facts): ShapeIssue {
  return { code: "too_big", path: [], message: `too big: ${message}`, continue: true, facts: bounds(facts) };
}

/**
 * Returns the fields of a `too_small` or `too_big` issue. The limit itself is allowed unless `facts` says otherwise.
 */
function bounds(facts: Facts): Facts {
  return { inclusive: true, origin: kindOf(facts["input"]), ...facts };
}

/** Returns zod's name for the type of a value, as the `origin` of an issue about a limit. */
function kindOf(value: unknown): string {
  if (typeof value !== "object") return typeof value;
  if (Array.isArray(value)) return "array";
  return value instanceof Date ? "date" : value instanceof Map ? "map" : "set";
}

function bound(value: Comparable): number | bigint {
  return value instanceof Date ? value.getTime() : value;
}

function show(value: Comparable): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
