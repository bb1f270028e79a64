import { misfit, placesWith } from "@quicrpc/core/codec";
import { setOf as setOfValues, mapOf as mapOfEntries } from "@quicrpc/core/internal";

type Entries = readonly (readonly [key: unknown, value: unknown])[];

/** Returns an object with these entries. The last of equal keys wins. */
export function toRecord(entries: Entries): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  let places = 0;
  for (const [key, value] of entries as readonly [string, unknown][]) {
    // Assigning this key would replace the object's prototype.
    if (key === "__proto__") continue;
    places = placesWith(key, places);
    record[key] = value;
  }
  return record;
}

/** Returns a Map with these entries. */
export function toMap(entries: Entries): Map<unknown, unknown> {
  return mapOfEntries(entries) ?? misfit();
}

/** Returns a Set of these values. */
export function toSet(values: readonly unknown[]): Set<unknown> {
  return setOfValues(values) ?? misfit();
}

/** Removes undefined items from the end of a tuple, and returns it. */
export function toTuple(items: unknown[]): unknown[] {
  while (items.length > 0 && items.at(-1) === undefined) items.pop();
  return items;
}
