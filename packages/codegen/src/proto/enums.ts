import type { LockedNumbers } from "../lock/lock.js";
import type { ProtoEnum } from "./model.js";
import { distinctNames, upperSnakeCase } from "./names.js";
import { keysByNumber, numbersFor, removedOf } from "./numbers.js";

/** Key of the member of number 0, which no text of a schema is. */
const ZERO = "\0";

/**
 * Returns an enum.
 *
 * @param keys its texts, or the names of its numbers
 * @param numbers the numbers, if the schema has them
 */
export function enumType(
  path: readonly string[],
  keys: readonly string[],
  numbers: ReadonlyMap<string, number> | undefined,
  locked: LockedNumbers | undefined,
  docs: string | undefined,
): ProtoEnum {
  const prefix = upperSnakeCase(path.at(-1) ?? "");
  const nameOf = (key: string): string => `${prefix}_${key === ZERO ? "UNSPECIFIED" : upperSnakeCase(key) || "VALUE"}`;
  const assigned: LockedNumbers =
    numbers === undefined ? numbersFor(keys, "values", locked) : { kind: "values", numbers, removed: new Map() };
  const names = distinctNames([ZERO, ...keysByNumber(assigned)], nameOf, withoutUnderscores);
  const values = keys.map((key) => ({ key, name: names.get(key) ?? key, number: assigned.numbers.get(key) ?? 0 }));
  const zero = values.some(({ number }) => number === 0) ? undefined : names.get(ZERO);
  const removed = removedOf(assigned, names);
  return { kind: "enum", path, docs, values, zero, numbers: assigned, removed, isNumbered: numbers !== undefined };
}

/** Protobuf refuses names of an enum that differ only in underscores. */
function withoutUnderscores(name: string): string {
  return name.replaceAll("_", "");
}
