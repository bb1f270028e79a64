import type { z } from "zod";
import { RpcError } from "../../errors.js";
import { CROWDED, mapOf, setOf } from "../../msgpack/key-crowd.js";
import { plain, WireMap } from "../../msgpack/value.js";

/**
 * A place where a schema needs more than the wire format says: that an object is a Map, an array a Set, or that a
 * property is undefined.
 */
interface Gap {
  readonly path: readonly PropertyKey[];
  readonly expected: "map" | "set" | "nonoptional";
}

/**
 * Returns `value`, changed at the places where `issues` show that its schema wants a Map, a Set or an undefined
 * property; undefined if there is any other issue.
 *
 * @param exact returns the value exactly as it was on the wire, if that is known
 */
export function revived(
  value: unknown,
  exact: () => unknown,
  issues: readonly z.core.$ZodIssue[],
): { readonly value: unknown } | undefined {
  const gaps = gapsOf(issues, []);
  if (gaps === undefined) return undefined;
  // Outer values are changed before the values inside them.
  const root = { value };
  const onWire = exact();
  const written = new WrittenMaps();
  for (const { path, expected } of gaps.toSorted((a, b) => b.path.length - a.path.length)) {
    if (!fill(root, onWire, written, ["value", ...path], expected)) return undefined;
  }
  return root;
}

function gapsOf(issues: readonly z.core.$ZodIssue[], around: readonly PropertyKey[]): Gap[] | undefined {
  const gaps: Gap[] = [];
  for (const issue of issues) {
    const path = [...around, ...issue.path];
    if (issue.code === "invalid_union") {
      const ofOption = issue.errors.map((each) => gapsOf(each, path)).find((each) => each !== undefined);
      if (ofOption === undefined) return undefined;
      gaps.push(...ofOption);
    } else if (issue.code === "invalid_type" && isExpected(issue.expected)) {
      gaps.push({ path, expected: issue.expected });
    } else {
      return undefined;
    }
  }
  return gaps;
}

function isExpected(expected: string): expected is Gap["expected"] {
  return expected === "map" || expected === "set" || expected === "nonoptional";
}

/** Fills the gap at `path` in `root`. Returns false if there was no gap. */
function fill(
  root: object,
  exact: unknown,
  writtenMaps: WrittenMaps,
  path: readonly PropertyKey[],
  expected: Gap["expected"],
): boolean {
  const key = path.at(-1) ?? "";
  const parent = path.slice(0, -1).reduce<unknown>(partOf, root);
  if (typeof parent !== "object" || parent === null || key === "__proto__") return false;
  const found = partOf(parent, key);
  if (expected === "nonoptional") return found === undefined && place(parent, key, undefined);
  if (expected === "set") return Array.isArray(found) && place(parent, key, setOf(found) ?? crowded());
  if (typeof found !== "object" || found === null || Array.isArray(found) || found instanceof Map) return false;
  const written = path.slice(1).reduce<unknown>((value, each) => writtenMaps.partOf(value, each), exact);
  const entries = written instanceof WireMap ? written.entries : undefined;
  const map = mapOf(
    entries?.map(([name, value]) => [plain(name), partOf(found, String(name)) ?? plain(value)] as const) ??
      Object.entries(found),
  );
  return place(parent, key, map ?? crowded());
}

/** Finds parts of a value as they were on the wire. */
class WrittenMaps {
  readonly #parts: Map<WireMap, ReadonlyMap<string, unknown>> = new Map();

  /**
   * Returns the value of the last of equal keys. A text key also matches keys that convert to that text, as in an
   * object.
   */
  partOf(value: unknown, key: PropertyKey): unknown {
    if (!(value instanceof WireMap)) return partOf(value, key);
    let parts = this.#parts.get(value);
    if (parts === undefined) this.#parts.set(value, (parts = partsByKey(value)));
    return parts.get(textOf(key));
  }
}

function partsByKey({ entries }: WireMap): Map<string, unknown> {
  const parts = new Map<string, unknown>();
  for (const [name, value] of entries) {
    parts.set(textOf(String(name)), value);
    if (typeof name === "number") parts.set(textOf(name), value);
  }
  return parts;
}

/** Returns a text for each key, which differs between a number and its digits. */
function textOf(key: PropertyKey): string {
  return typeof key === "number" ? `number ${key}` : `text ${String(key)}`;
}

function crowded(): never {
  throw new RpcError("invalid_argument", CROWDED);
}

function partOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (value instanceof Map) return (value as Map<unknown, unknown>).get(key);
  return Object.hasOwn(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined;
}

function place(parent: object, key: PropertyKey, value: unknown): true {
  if (parent instanceof Map) parent.set(key, value);
  else (parent as Record<PropertyKey, unknown>)[key] = value;
  return true;
}
