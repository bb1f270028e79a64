import type { LockedNumbers } from "../lock/lock.js";
import type { EnumMark } from "./marks.js";
import type { Declared, ProtoEnum } from "./model.js";
import { distinctNames, upperSnakeCase } from "./names.js";
import { keysByNumber, numbersFor, removedOf } from "./numbers.js";

/** Key of the enum member with number 0. No text in a schema is equal to it. */
const ZERO = "\0";

/**
 * Returns the protobuf enum for a schema.
 *
 * @param keys the schema's texts, or the names of its numbers
 * @param numbers the numbers in the schema; undefined if its values are texts
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

/** Returns the enum that a schema of integers names. Only the first name of each number is kept. */
export function openEnum(scope: readonly string[], mark: EnumMark, docs: string | undefined): ProtoEnum {
  const name = mark.enum.slice(mark.enum.lastIndexOf(".") + 1);
  const members = Object.entries(mark.values);
  const values = members
    .filter(([, number], index) => members.findIndex((other) => other[1] === number) === index)
    .map(([name, number]) => ({ key: name, name, number }));
  const zero = values.some(({ number }) => number === 0) ? undefined : `${upperSnakeCase(name)}_UNSPECIFIED`;
  return {
    kind: "enum",
    path: [...scope, name],
    docs,
    values,
    zero,
    numbers: { kind: "values", numbers: new Map(members), removed: new Map() },
    removed: { numbers: [], names: [] },
    isNumbered: true,
  };
}

/** Returns the enum among `types` with the name and the members of `wanted`. */
export function sameEnum(types: readonly Declared[], wanted: ProtoEnum): ProtoEnum | undefined {
  const text = JSON.stringify([wanted.path, wanted.values]);
  return types.find((type) => type.kind === "enum" && JSON.stringify([type.path, type.values]) === text) as
    | ProtoEnum
    | undefined;
}

/** Removes underscores, because protobuf refuses enum members whose names differ only in underscores. */
function withoutUnderscores(name: string): string {
  return name.replaceAll("_", "");
}
