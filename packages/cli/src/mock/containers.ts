import * as fc from "fast-check";
import type { Bounds } from "./bounds.js";
import { MockError, type ValueSource, type ZodLike } from "./schema.js";

/** Items of a list that says nothing about its length. */
const USUAL_ITEMS = 4;

/** Objects, lists and the like. */
export function containerOf(
  def: Readonly<Record<string, unknown>>,
  bounds: Bounds,
  isDeep: boolean,
  inner: (each: unknown) => ValueSource,
): ValueSource {
  const lengths = lengthsOf(bounds, isDeep);
  switch (def["type"]) {
    case "object": {
      const shape = def["shape"] as Readonly<Record<string, unknown>>;
      const sources = Object.entries(shape).map(([name, each]) => fc.tuple(fc.constant(name), inner(each)));
      const mayLack = (name: string): boolean => (shape[name] as ZodLike)._zod.optin === "optional";
      // What is optional and undefined is left out, as people write it.
      return fc
        .tuple(...sources)
        .map((entries) => Object.fromEntries(entries.filter(([name, value]) => value !== undefined || !mayLack(name))));
    }
    case "array":
      return fc.array(inner(def["element"]), lengths);
    case "tuple": {
      const items = (def["items"] as readonly unknown[]).map(inner);
      // zod says null where there is none.
      const rest =
        (def["rest"] ?? undefined) === undefined
          ? fc.constant([])
          : fc.array(inner(def["rest"]), { maxLength: isDeep ? 0 : 2 });
      return fc.tuple(fc.tuple(...items), rest).map(([first, more]) => [...first, ...more]);
    }
    case "set":
      return fc.uniqueArray(inner(def["valueType"]), lengths).map((items) => new Set(items));
    case "map":
      return entriesOf(def, lengths, inner).map((entries) => new Map(entries));
    case "record":
      return recordOf(def, lengths, inner);
    case "intersection":
      return fc.tuple(inner(def["left"]), inner(def["right"])).map(([left, right]) => merged(left, right));
    default:
      throw new MockError(`no data is made of a ${String(def["type"])}`);
  }
}

function lengthsOf({ minimum, maximum, size }: Bounds, isDeep: boolean): { minLength: number; maxLength: number } {
  const minLength = Number(size ?? minimum ?? (isDeep ? 0 : 1));
  const usual = isDeep ? minLength : minLength + USUAL_ITEMS;
  return {
    minLength: Math.min(minLength, Number(maximum ?? minLength)),
    maxLength: Math.min(Number(size ?? maximum ?? usual), usual),
  };
}

function entriesOf(
  def: Readonly<Record<string, unknown>>,
  lengths: { minLength: number; maxLength: number },
  inner: (each: unknown) => ValueSource,
): fc.Arbitrary<[unknown, unknown][]> {
  const entry = fc.tuple(inner(def["keyType"]), inner(def["valueType"]));
  return fc.uniqueArray(entry, { ...lengths, selector: ([key]) => key });
}

/** A record whose keys are an enum has all of them. */
function recordOf(
  def: Readonly<Record<string, unknown>>,
  lengths: { minLength: number; maxLength: number },
  inner: (each: unknown) => ValueSource,
): ValueSource {
  const keys = (def["keyType"] as ZodLike)._zod as ZodLike["_zod"] & { readonly values?: ReadonlySet<PropertyKey> };
  if (keys.values === undefined)
    return entriesOf(def, lengths, inner).map((entries) => Object.fromEntries(entries as [string, unknown][]));
  const sources = Array.from(keys.values, (key) => fc.tuple(fc.constant(key), inner(def["valueType"])));
  return fc.tuple(...sources).map((entries) => Object.fromEntries(entries as [string, unknown][]));
}

function merged(left: unknown, right: unknown): unknown {
  const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
  return isObject(left) && isObject(right) ? { ...left, ...right } : left;
}
