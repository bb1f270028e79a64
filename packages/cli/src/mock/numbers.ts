import type { Bounds } from "@quicrpc/codegen";
import * as fc from "fast-check";
import type { ValueSource } from "./schema.js";

/** Maximum of generated numbers, unless the schema has its own bounds. The minimum is 0. */
const USUAL = 1000;
const DAY_MS = 86_400_000;
/**
 * Start of the year in which dates are generated if the schema has no bounds. The year is fixed, so that every run
 * gives the same data.
 */
const EPOCH = Date.UTC(2026, 0, 1);

export function numbersWithin({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
  multipleOf,
  format = "",
}: Bounds): ValueSource {
  const isInteger = format.includes("int");
  const step = Number(multipleOf ?? (isInteger ? 1 : 0.01));
  const min = lower(minimum, exclusiveMinimum, step);
  const max = upper(maximum, exclusiveMaximum, step);
  const from = min ?? (max === undefined || max >= 0 ? 0 : max - USUAL);
  // Bounds of a format, for example those of every int32, do not tell which values are usual.
  const low = from < -USUAL && (max === undefined || max > 0) ? 0 : from;
  const high = Math.min(max ?? low + USUAL, low + USUAL * Math.max(1, step));
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  if (first > last) return fc.double({ min: low, max: high, noNaN: true });
  const decimals = (/\.(\d+)$/.exec(String(step))?.[1] ?? "").length;
  return fc.integer({ min: first, max: last }).map((steps) => Number((steps * step).toFixed(decimals)));
}

export function bigintsWithin({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
  multipleOf = 1n,
}: Bounds): ValueSource {
  const step = multipleOf as bigint;
  const min =
    (minimum as bigint | undefined) ?? (exclusiveMinimum === undefined ? undefined : (exclusiveMinimum as bigint) + 1n);
  const max =
    (maximum as bigint | undefined) ?? (exclusiveMaximum === undefined ? undefined : (exclusiveMaximum as bigint) - 1n);
  const low = min ?? (max === undefined || max >= 0n ? 0n : max - 1000n * step);
  const high = max ?? low + 1_000_000n * step;
  const first = low >= 0n ? (low + step - 1n) / step : low / step;
  return fc.bigInt({ min: first, max: high / step < first ? first : high / step }).map((steps) => steps * step);
}

/** Returns a source of dates within bounds, in whole seconds. */
export function datesWithin({ minimum, maximum }: Bounds): ValueSource {
  const minMs = minimum === undefined ? undefined : new Date(minimum as Date).getTime();
  const maxMs = maximum === undefined ? undefined : new Date(maximum as Date).getTime();
  const low = minMs ?? (maxMs === undefined || maxMs >= EPOCH + DAY_MS ? EPOCH : maxMs - 365 * DAY_MS);
  const high = maxMs ?? low + 365 * DAY_MS;
  const round = (ms: number): number => Math.max(low, ms - (ms % 1000));
  return fc.integer({ min: low, max: high }).map((ms) => new Date(round(ms)));
}

function lower(minimum: unknown, exclusive: unknown, step: number): number | undefined {
  const bounds = [
    ...(minimum === undefined ? [] : [Number(minimum)]),
    ...(exclusive === undefined ? [] : [Number(exclusive) + step]),
  ];
  return bounds.length === 0 ? undefined : Math.max(...bounds);
}

function upper(maximum: unknown, exclusive: unknown, step: number): number | undefined {
  const bounds = [
    ...(maximum === undefined ? [] : [Number(maximum)]),
    ...(exclusive === undefined ? [] : [Number(exclusive) - step]),
  ];
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}
