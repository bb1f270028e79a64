import { util } from "zod/v4/core";
import { demandsIn } from "../shape/checks.js";
import type { Checks } from "../shape/shape.js";

type Value = number | string;

/** Least and greatest value of each number format; texts for bigints. */
const RANGES: ReadonlyMap<string, readonly [least: Value, greatest: Value]> = new Map([
  ["integer", [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]],
  ["int32", [-(2 ** 31), 2 ** 31 - 1]],
  ["uint32", [0, 2 ** 32 - 1]],
  ["int64", [String(-(2n ** 63n)), String(2n ** 63n - 1n)]],
  ["uint64", ["0", String(2n ** 64n - 1n)]],
  ["float32", [-3.4028234663852886e38, 3.4028234663852886e38]],
  ["float64", [-Infinity, Infinity]],
]);
const FRACTIONAL: ReadonlySet<string> = new Set(["float32", "float64"]);
const WHOLE = /^-?\d+$/;

export function impliesBound(checks: Checks, key: "min" | "max" | "above" | "below", value: Value): boolean {
  const sign = key === "min" || key === "above" ? 1 : -1;
  const isWhole = isWholeIn(checks) || typeof value === "string";
  const [demand, isOpenDemand] = boundOf(value, key === "above" || key === "below", sign, isWhole);
  return boundsOf(checks, sign, isWhole).some(
    ([bound, isOpen]) => bound > demand || (bound >= demand && (isOpen || !isOpenDemand)),
  );
}

export function impliesStep(checks: Checks, step: string): boolean {
  const steps = demandsIn(checks.multipleOf);
  const whole = steps.filter((each) => WHOLE.test(each)).map(BigInt);
  const common = isWholeIn(checks) ? whole.reduce(leastCommonMultiple, 1n) : undefined;
  return [...steps, ...(common === undefined ? [] : [String(common)])].some((each) => isMultiple(each, step));
}

/** Returns true if every value that passes `checks` has the format `format`, regardless of options. */
export function impliesFormat(checks: Checks, format: string): boolean {
  if (demandsIn(checks.format).includes(format)) return true;
  const range = RANGES.get(format);
  if (range === undefined || (!FRACTIONAL.has(format) && !isWholeIn(checks))) return false;
  return impliesBound(checks, "min", range[0]) && impliesBound(checks, "max", range[1]);
}

/** A bound and whether it is exclusive. */
type Bound = readonly [at: number | bigint, isOpen: boolean];

/**
 * Returns the lower bounds in `checks`. With `sign` -1, returns the negated upper bounds, which can be compared in the
 * same way.
 */
function boundsOf({ min, max, above, below, format }: Checks, sign: 1 | -1, isWhole: boolean): Bound[] {
  const [closed, open, end] = sign === 1 ? ([min, above, 0] as const) : ([max, below, 1] as const);
  const ranges = demandsIn(format).map((each) => RANGES.get(each)?.[end]);
  return [
    ...[-Infinity * sign, closed, ...ranges].map((each) => ({ each, isOpen: false })),
    { each: open, isOpen: true },
  ].flatMap(({ each, isOpen }) => (each === undefined ? [] : [boundOf(each, isOpen, sign, isWhole)]));
}

function boundOf(value: Value, isOpen: boolean, sign: 1 | -1, isWhole: boolean): Bound {
  if (typeof value === "string") return [BigInt(value) * BigInt(sign) + (isOpen ? 1n : 0n), false];
  const at = value * sign;
  return isWhole ? [isOpen ? Math.floor(at) + 1 : Math.ceil(at), false] : [at, isOpen];
}

function isWholeIn({ min, max, above, below, multipleOf, format }: Checks): boolean {
  return (
    [min, max, above, below].some((each) => typeof each === "string") ||
    demandsIn(format).some((each) => RANGES.has(each) && !FRACTIONAL.has(each)) ||
    demandsIn(multipleOf).some((each) => WHOLE.test(each))
  );
}

function isMultiple(value: string, step: string): boolean {
  if (!WHOLE.test(value) || !WHOLE.test(step)) return util.floatSafeRemainder(Number(value), Number(step)) === 0;
  return BigInt(step) !== 0n && BigInt(value) % BigInt(step) === 0n;
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [divisor, rest] = [a, b];
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest];
  return divisor === 0n ? 0n : (a / divisor) * b;
}
