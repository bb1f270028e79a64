import type { z } from "zod";
import { RpcError } from "../../errors.js";
import { CROWDED, mapOf, setOf } from "../../msgpack/key-crowd.js";
import { plain, WireMap } from "../../msgpack/value.js";

/**
 * A place in a decoded message where the schema expects a type that the wire format does not express: a Map, a Set or
 * an undefined property.
 */
interface Gap {
  readonly path: readonly PropertyKey[];
  readonly expected: "map" | "set" | "nonoptional";
}

/**
 * Converts the parts of `value` for which zod reports that the schema expects a Map, a Set or an undefined property.
 * Returns undefined if zod reports any other issue.
 *
 * @param exact returns the value with the exact key types that were on the wire, or undefined if they are unknown
 */
export function revived(
  value: unknown,
  exact: () => unknown,
  issues: readonly z.core.$ZodIssue[],
): { readonly value: unknown } | undefined {
  const gaps = gapsOf(issues, []);
  if (gaps === undefined) return undefined;
  // Sorted so that inner values are converted before the values that contain them.
  const root = { value };
  const onWire = exact();
  const written = new WrittenMaps();
  for (const { path, expected } of gaps.toSorted((a, b) => b.path.length - a.path.length)) {
    if (!fill(root, onWire, written, ["value", ...path], expected)) return undefined;
  }
  return root;
}

function gapsOf(issues: readonly z.core.$ZodIssue[], parentPath: readonly PropertyKey[]): Gap[] | undefined {
  const gaps: Gap[] = [];
  for (const issue of issues) {
    const path = [...parentPath, ...issue.path];
    if (issue.code === "invalid_union") {
      const ofOption = issue.errors.map((option) => gapsOf(option, path)).find((each) => each !== undefined);
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

/** Converts the value at `path` in `root` to the expected type. Returns false if it cannot be converted. */
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
  const member = partOf(parent, key);
  if (expected === "nonoptional") return member === undefined && putMember(parent, key, undefined);
  if (expected === "set") return Array.isArray(member) && putMember(parent, key, setOf(member) ?? crowded());
  if (typeof member !== "object" || member === null || Array.isArray(member) || member instanceof Map) return false;
  const written = path.slice(1).reduce<unknown>((value, step) => writtenMaps.partOf(value, step), exact);
  const entries = written instanceof WireMap ? written.entries : undefined;
  const map = mapOf(
    entries?.map(([name, value]) => [plain(name), partOf(member, String(name)) ?? plain(value)] as const) ??
      Object.entries(member),
  );
  return putMember(parent, key, map ?? crowded());
}

/** Looks up parts of a message that keeps the exact key types of the wire. */
class WrittenMaps {
  readonly #parts: Map<WireMap, ReadonlyMap<string, unknown>> = new Map();

  /**
   * Returns the value for `key`. Of several equal keys the last one counts, and a string also finds a key that converts
   * to that string, as in an object.
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

/** Returns a string that identifies a key, and distinguishes a number from the same digits in a string. */
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

function putMember(parent: object, key: PropertyKey, value: unknown): true {
  if (parent instanceof Map) parent.set(key, value);
  else (parent as Record<PropertyKey, unknown>)[key] = value;
  return true;
}
