import { isLess } from "../shape/checks.js";
import type { Checks, LiteralValue } from "../shape/shape.js";

/** Whether `value` surely meets `checks`: what only zod or a function of the user's can tell is not sure. */
export function fitsChecks(value: LiteralValue, checks: Checks = {}): boolean {
  const { min, max, above, below, multipleOf, format, patterns = [], custom, lenient } = checks;
  if (lenient === true) return true;
  if (custom !== undefined || multipleOf !== undefined) return false;
  if (format !== undefined && !(format === "integer" && Number.isSafeInteger(value))) return false;
  const measure = measureOf(value);
  if (measure === undefined) return [min, max, above, below].every((each) => each === undefined);
  return (
    (min === undefined || !isLess(measure, min)) &&
    (max === undefined || !isLess(max, measure)) &&
    (above === undefined || isLess(above, measure)) &&
    (below === undefined || isLess(measure, below)) &&
    patterns.every((pattern) => typeof value === "string" && regexOf(pattern)?.test(value) === true)
  );
}

/** Returns the number that bounds are compared with: a number itself, or the length of text. */
function measureOf(value: LiteralValue): number | string | undefined {
  if (typeof value === "object") return value?.bigint;
  if (typeof value === "string") return Array.from(value).length;
  return typeof value === "number" ? value : undefined;
}

function regexOf(text: string): RegExp | undefined {
  const [, source, flags] = /^\/([^]*)\/(\w*)$/.exec(text) ?? [];
  try {
    return source === undefined ? undefined : new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
