import { type Bounds, boundsOf, checksOf, isFunction, nodeOf, ownStructure, type SchemaNode } from "@quicrpc/codegen";
import { CONTAINERS } from "@quicrpc/core/internal";
import * as fc from "fast-check";
import { bigintsWithin, datesWithin, numbersWithin } from "./numbers.js";
import { MockError, type ValueSource, type ZodLike } from "./schema.js";
import { stringsWithin } from "./strings.js";

/**
 * Depth of nesting from which values omit optional members and use the simplest alternative, because schemas may be
 * recursive.
 */
const SHALLOW = 4;
const DEEPEST = 24;
const ATTEMPTS = 200;
/** Maximum number of items in a list whose schema states no length. */
const USUAL_ITEMS = 4;

/**
 * Returns a source of values that match a schema, in the form in which a client sends them: before the receiver applies
 * defaults and transforms.
 */
export function valuesOf(schema: ZodLike): ValueSource {
  return sourceOf(nodeOf(schema), 0);
}

function sourceOf(schema: SchemaNode, depth: number): ValueSource {
  if (depth > DEEPEST) throw new MockError("a schema holds itself without an end");
  const node = ownStructure(schema);
  const bounds = boundsOf(checksOf(schema));
  const isDeep = depth >= SHALLOW;
  const lengths = lengthsOf(bounds, isDeep);
  // Created on demand and only once, because a schema may be recursive.
  const inner = (part: SchemaNode): ValueSource => {
    let source: ValueSource | undefined;
    return fc.constant(undefined).chain(() => (source ??= sourceOf(part, depth + 1)));
  };
  const entries = (key: SchemaNode, element: SchemaNode): fc.Arbitrary<[unknown, unknown][]> =>
    fc.uniqueArray(fc.tuple(inner(key), inner(element)), { ...lengths, selector: ([name]) => name });
  switch (node.kind) {
    case "string":
      return stringsWithin(bounds);
    case "number":
      return numbersWithin(bounds);
    case "bigint":
      return bigintsWithin(bounds);
    case "date":
      return datesWithin(bounds);
    case "boolean":
      return fc.boolean();
    case "literal":
      return fc.constantFrom(...node.values);
    case "null":
      return fc.constant(null);
    case "undefined":
      return fc.constant(undefined);
    case "any":
      return fc.constantFrom("anything", 1, true, null);
    case "bytes": {
      const { view } = node;
      if (view === undefined) return fc.uint8Array({ minLength: 1, maxLength: 32, size: "max" });
      // A length that is a multiple of the item size of every class.
      return fc
        .uint8Array({ minLength: 32, maxLength: 32 })
        .map((bytes) => new globalThis[view as "Int8Array"](bytes.buffer));
    }
    case "custom":
      return fc.uint8Array({ minLength: 1, maxLength: 32 });
    case "template":
      return fc
        .tuple(...(node.parts ?? []).map((part) => (typeof part === "string" ? fc.constant(part) : inner(part))))
        .map((texts) => texts.map(String).join(""));
    case "optional":
    case "exactOptional":
      return isDeep ? fc.constant(undefined) : fc.option(inner(node.inner), { nil: undefined, freq: 4 });
    case "nullable":
      return isDeep ? fc.constant(null) : fc.option(inner(node.inner), { nil: null, freq: 4 });
    case "pipe":
      return inner(isFunction(node.from) ? node.to : node.from);
    case "union":
      return oneOf(node.options, isDeep, inner);
    case "discriminated":
      return oneOf([...new Set(node.options.map(([, option]) => option))], isDeep, inner);
    case "object":
      // Optional properties that are undefined are left out.
      return recordOf(node.fields, inner, (name) => node.fields[name]?.optin === "optional");
    case "array":
      return fc.array(inner(node.element), lengths);
    case "tuple": {
      const items = fc.tuple(...node.items.map(inner));
      const restItems = node.rest ? fc.array(inner(node.rest), { maxLength: isDeep ? 0 : 2 }) : fc.constant([]);
      return fc.tuple(items, restItems).map(([first, more]) => [...first, ...more]);
    }
    case "set":
      return fc.uniqueArray(inner(node.element), lengths).map((items) => new Set(items));
    case "map":
      return entries(node.key, node.element).map((pairs) => new Map(pairs));
    case "record": {
      const { exactly, among: choices = exactly, fit: keySchema } = node.keys;
      // A record whose keys are an enum has all of them.
      if (choices !== undefined) return recordOf(Object.fromEntries(choices.map((key) => [key, node.element])), inner);
      return entries(keySchema as SchemaNode, node.element).map((pairs) => Object.fromEntries(pairs) as object);
    }
    case "intersection":
      return fc.tuple(inner(node.left), inner(node.right)).map(([left, right]) => merged(left, right));
    default:
      if ("inner" in node) return inner(node.inner);
      throw new MockError(`no data is made of a ${node.type}`);
  }
}

/**
 * Returns a value that passes all checks of a schema. The same seed leads to the same value. Throws `MockError` if none
 * is found.
 */
export function mockValue(schema: ZodLike, source: ValueSource, seed: number): unknown {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [value] = fc.sample(source, { seed: (seed + attempt * 0x9e3779b1) | 0, numRuns: 1 });
    if (matches(schema, value)) return value;
  }
  throw new MockError(`of ${ATTEMPTS} values none passes the schema's own checks`);
}

/** Returns true if a value passes a schema's checks, and false if the schema's codec throws an exception. */
function matches(schema: ZodLike, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

function lengthsOf({ minimum, maximum }: Bounds, isDeep: boolean): { minLength: number; maxLength: number } {
  const minLength = Number(minimum ?? (isDeep ? 0 : 1));
  const usual = isDeep ? minLength : minLength + USUAL_ITEMS;
  return {
    minLength: Math.min(minLength, Number(maximum ?? minLength)),
    maxLength: Math.min(Number(maximum ?? usual), usual),
  };
}

/**
 * Returns a source of values of one of `options`. If `isDeep` is true, selects an option without nested values if
 * possible.
 */
function oneOf(options: readonly SchemaNode[], isDeep: boolean, inner: (part: SchemaNode) => ValueSource): ValueSource {
  const flat = options.filter((option) => option.type !== "lazy" && !CONTAINERS.has(ownStructure(option).kind));
  return fc.oneof(...(isDeep && flat.length > 0 ? flat : options).map(inner));
}

/**
 * Returns a source of objects with these fields. Fields whose value is undefined and for which `mayLack` returns true
 * are omitted.
 */
function recordOf(
  fields: Readonly<Record<string, SchemaNode>>,
  inner: (part: SchemaNode) => ValueSource,
  mayLack: (name: string) => boolean = () => false,
): ValueSource {
  const sources = Object.entries(fields).map(([name, part]) => fc.tuple(fc.constant(name), inner(part)));
  return fc
    .tuple(...sources)
    .map((pairs) => Object.fromEntries(pairs.filter(([name, value]) => value !== undefined || !mayLack(name))));
}

function merged(left: unknown, right: unknown): unknown {
  const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
  return isObject(left) && isObject(right) ? { ...left, ...right } : left;
}
