import type { LockedNumbers } from "../lock/lock.js";
import type { EnumMark } from "./marks.js";
import { type Declared, namesIn, type ProtoEnum } from "./model.js";
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

/**
 * Returns the enum that a schema of integers names: the one among `siblings`, or a new one. Only the first name of each
 * number is kept. If a name is taken, the enum gets another one, or its members a prefix: names are not sent.
 *
 * @param siblings types in the scope of the enum
 * @param takenNames returns the names in that scope
 */
export function openEnum(
  scope: readonly string[],
  mark: EnumMark,
  docs: string | undefined,
  siblings: readonly Declared[],
  takenNames: () => ReadonlySet<string>,
): ProtoEnum {
  const wanted = mark.enum.slice(mark.enum.lastIndexOf(".") + 1);
  const members = Object.entries(mark.values);
  const origin = JSON.stringify([wanted, members]);
  const known = siblings.find((type) => type.kind === "enum" && type.origin === origin);
  if (known?.kind === "enum") return known;
  const taken = takenNames();
  const kept = members.filter(([, number], index) => members.findIndex((other) => other[1] === number) === index);
  const named = (name: string, prefix: string): ProtoEnum => ({
    kind: "enum",
    path: [...scope, name],
    docs,
    values: kept.map(([key, number]) => ({ key, name: prefix + key, number })),
    zero: kept.some(([, number]) => number === 0) ? undefined : `${upperSnakeCase(name)}_UNSPECIFIED`,
    numbers: { kind: "values", numbers: new Map(members), removed: new Map() },
    removed: { numbers: [], names: [] },
    isNumbered: true,
    origin,
  });
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}${n}`;
    for (const prefix of ["", `${upperSnakeCase(name)}_`]) {
      const type = named(name, prefix);
      if (!namesIn(type).some((each) => taken.has(each))) return type;
    }
  }
}

/** Removes underscores, because protobuf refuses enum members whose names differ only in underscores. */
function withoutUnderscores(name: string): string {
  return name.replaceAll("_", "");
}
