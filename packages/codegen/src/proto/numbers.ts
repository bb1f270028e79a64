import type { LockedNumbers } from "../lock/lock.js";
import type { Removed } from "./model.js";

/** Numbers that protobuf reserves for itself. */
const RESERVED = { first: 19_000, last: 19_999 };

/**
 * Returns the numbers of `keys`: those in the lock, and for new keys the ones after the highest that was ever used.
 * Keys that are gone are removed, and their numbers are not used again.
 */
export function numbersFor(
  keys: readonly string[],
  kind: LockedNumbers["kind"],
  locked: LockedNumbers | undefined,
): LockedNumbers {
  const known = locked?.kind === kind ? locked : undefined;
  let last = Math.max(0, ...(known?.numbers.values() ?? []), ...(known?.removed.keys() ?? []));
  const next = (): number => {
    last++;
    if (last === RESERVED.first && kind === "fields") last = RESERVED.last + 1;
    return last;
  };
  const numbers = new Map(keys.map((key) => [key, known?.numbers.get(key) ?? next()]));
  const gone = [...(known?.numbers ?? [])].filter(([key]) => !numbers.has(key));
  const removed = new Map([...(known?.removed ?? []), ...gone.map(([key, number]) => [number, key] as const)]);
  return { kind, numbers, removed };
}

/** Returns what a declaration reserves. Names that are used again are not reserved. */
export function removedOf(
  { removed }: LockedNumbers,
  used: Iterable<string>,
  nameOf: (key: string) => string,
): Removed {
  const names = new Set([...removed.values()].map(nameOf));
  for (const name of used) names.delete(name);
  return { numbers: [...removed.keys()].sort((a, b) => a - b), names: [...names].sort() };
}
