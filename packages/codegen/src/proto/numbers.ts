import type { LockedNumbers } from "../lock/lock.js";
import type { Removed } from "./model.js";

export interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** Highest number of a field. */
export const MAX_NUMBER: number = 2 ** 29 - 1;

/** First and last of the field numbers that protobuf reserves for itself. */
const RESERVED: NumberRange = { first: 19_000, last: 19_999 };

/** Returns true for a number that the encoding of fields can represent. */
export function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_NUMBER;
}

/** Returns true for a number that a field may have. */
export function isFieldNumber(value: unknown): boolean {
  return isNumber(value) && (value < RESERVED.first || value > RESERVED.last);
}

/**
 * Returns the numbers for `keys`: those in `given`, otherwise those in the lock file, and for new keys numbers after the
 * highest one that was ever used, except those in `reserved`. Keys that no longer exist are marked as removed, and their numbers are not reused.
 */
export function numbersFor(
  keys: readonly string[],
  kind: LockedNumbers["kind"],
  locked: LockedNumbers | undefined,
  given: ReadonlyMap<string, number> = new Map(),
  reserved: readonly NumberRange[] = [],
): LockedNumbers {
  const known = locked?.kind === kind ? locked : undefined;
  let last = Math.max(0, ...given.values(), ...(known?.numbers.values() ?? []), ...(known?.removed.keys() ?? []));
  const skipped = [RESERVED, ...reserved].sort((a, b) => a.first - b.first);
  const next = (): number => {
    last++;
    if (kind === "fields") for (const { first, last: end } of skipped) if (first <= last && last <= end) last = end + 1;
    return last;
  };
  const numbers = new Map(keys.map((key) => [key, given.get(key) ?? known?.numbers.get(key) ?? next()]));
  const gone = [...(known?.numbers ?? [])].filter(([key]) => !numbers.has(key));
  const removed = new Map([...(known?.removed ?? []), ...gone.map(([key, number]) => [number, key] as const)]);
  for (const number of given.values()) removed.delete(number);
  return { kind, numbers, removed };
}

/** Returns all keys that a message or enum has or has had, in the order of their first numbers. */
export function keysByNumber({ numbers, removed }: LockedNumbers): string[] {
  const used = Array.from(numbers, ([key, number]) => [number, key] as const);
  return [...new Set([...removed, ...used].sort(([a], [b]) => a - b).map(([, key]) => key))];
}

/** Returns the numbers and names that a declaration must reserve. Names that are used again are not reserved. */
export function removedOf({ numbers, removed }: LockedNumbers, names: ReadonlyMap<string, string>): Removed {
  const gone = new Set([...removed.values()].filter((key) => !numbers.has(key)));
  return {
    numbers: [...removed.keys()].sort((a, b) => a - b),
    names: [...gone].map((key) => names.get(key) ?? key).sort(),
  };
}
