import { mergeChecks } from "../shape/checks.js";
import {
  type Checks,
  type LiteralValue,
  type ObjectShape,
  type Shape,
  type ShapeTypes,
  valueOfLiteral,
} from "../shape/shape.js";
import { compareChecks } from "./compare-checks.js";
import { fitsChecks } from "./fits-checks.js";

/** One of the types that a shape may have. Each literal value is an alternative of its own. */
export type Alternative =
  | Exclude<Shape, { readonly type: "ref" | "union" | "literal" | "never" }>
  | { readonly type: "literal"; readonly value: LiteralValue; readonly checks?: Checks };

/** A type, with the name under which it was found. */
export interface Named {
  readonly name: string | undefined;
  readonly shape: Alternative;
}

/** Returns all alternatives of `shape`, following references. */
export function alternatives(shape: Shape, types: ShapeTypes, name?: string, depth = 0): Named[] {
  switch (shape.type) {
    case "ref": {
      const target = types[shape.name];
      if (target === undefined || depth > 50) return [{ name, shape: { type: "opaque" } }];
      const found = alternatives(target, types, shape.name, depth + 1);
      const { checks, more } = shape;
      if (checks === undefined && more === undefined) return found;
      return found.map((each) => ({
        ...each,
        shape: withMore(checks === undefined ? each.shape : { ...each.shape, checks }, more),
      }));
    }
    case "union":
      return shape.options.flatMap((option) => alternatives(option, types, undefined, depth + 1));
    case "literal":
      return shape.values.map((value) => ({
        name,
        shape: withMore({ type: "literal", value }, shape.checks),
      }));
    case "never":
      return [];
    case "intersection": {
      const merged = mergeObjects(shape.parts, types);
      return [{ name, shape: merged === undefined ? shape : withMore(merged, shape.checks) }];
    }
    default:
      return [{ name, shape }];
  }
}

/** Returns an intersection of objects as one object; undefined if other types are involved. */
function mergeObjects(parts: readonly Shape[], types: ShapeTypes): ObjectShape | undefined {
  const fields: Record<string, Shape> = {};
  const required = new Set<string>();
  const optional = new Set<string>();
  for (const part of parts) {
    const [only, ...others] = alternatives(part, types);
    if (only?.shape.type !== "object" || others.length > 0 || only.shape.rest !== undefined) return undefined;
    const left = new Set(only.shape.optional);
    for (const [name, field] of Object.entries(only.shape.fields)) {
      const present = fields[name];
      fields[name] = present === undefined ? field : intersect(present, field, types);
      (left.has(name) ? optional : required).add(name);
    }
  }
  return { type: "object", fields, optional: [...optional].filter((name) => !required.has(name)) };
}

/** Intersections of the types of one version, by their text, so that a recursive type leads to the same shape. */
const intersections = new WeakMap<ShapeTypes, Map<string, Shape>>();

function intersect(a: Shape, b: Shape, types: ShapeTypes): Shape {
  const parts = new Map([...partsOf(a), ...partsOf(b)].map((part) => [JSON.stringify(part), part]));
  if (parts.size === 1) return b;
  const known = intersections.get(types) ?? new Map<string, Shape>();
  intersections.set(types, known);
  const text = [...parts.keys()].join();
  const shape = known.get(text) ?? { type: "intersection", parts: [...parts.values()] };
  known.set(text, shape);
  return shape;
}

function partsOf(shape: Shape): readonly Shape[] {
  return shape.type === "intersection" && shape.checks === undefined ? shape.parts : [shape];
}

const WITH_PARTS: ReadonlySet<string> = new Set(["object", "array", "set", "tuple", "record", "map", "intersection"]);

/** Returns how many of the values of `part` belong to `whole`, for types without parts. */
export function coverage(whole: Alternative, part: Alternative): "all" | "some" | "none" {
  if (!hasTypeOf(whole, part)) return "none";
  const type = part.type === "literal" ? typeOf(part.value) : part.type;
  // A value that is converted to its own type does not change.
  const checks = whole.checks?.others?.join() === `to ${type}` ? whole.checks.changed : whole.checks;
  // Invalid values are replaced, so every value belongs to `part`.
  if (part.checks?.lenient === true && checks?.lenient !== true) return "some";
  if (part.type === "literal" && whole.type !== "literal") return fitsChecks(part.value, checks) ? "all" : "some";
  const isNarrower = compareChecks(part.checks, checks).some(({ kind }) => kind !== "check-loosened");
  return isNarrower ? "some" : "all";
}

/** Returns true if the values of `part` have the type of `whole`, ignoring checks. */
export function hasTypeOf(whole: Alternative, part: Alternative): boolean {
  if (whole.type === "any") return true;
  if (part.type !== "literal") return whole.type === part.type && !WITH_PARTS.has(part.type);
  const { value } = part;
  if (whole.type === "literal") return JSON.stringify(whole.value) === JSON.stringify(value);
  return whole.type === typeOf(value);
}

function typeOf(value: LiteralValue): string {
  const plain = valueOfLiteral(value);
  return plain === null ? "null" : typeof plain;
}

function withMore(shape: Alternative, more: Checks | undefined): Alternative {
  return more === undefined ? shape : { ...shape, checks: mergeChecks(shape.checks, more) };
}

/** Returns the fields of an object that identify an alternative: literals, as in a discriminated union. */
export function tagOf(shape: Alternative): string | undefined {
  if (shape.type !== "object") return undefined;
  const tags = Object.entries(shape.fields).flatMap(([name, field]) =>
    field.type === "literal" && field.values.length === 1 ? [`${name}=${JSON.stringify(field.values[0])}`] : [],
  );
  return tags.length === 0 ? undefined : tags.sort().join();
}

/** Describes a type in words. */
export function describeShape(shape: Alternative, name?: string): string {
  if (shape.type === "literal") {
    const { value } = shape;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    return "bigint" in value ? `${value.bigint}n` : value.number;
  }
  if (shape.type === "object") return tagOf(shape) ?? name ?? "an object";
  if (shape.type === "array" || shape.type === "set") {
    const item = shape.items.type === "ref" ? shape.items.name : shape.items.type;
    return `${shape.type}<${item}>`;
  }
  const { format } = shape.checks ?? {};
  const type = format === undefined ? shape.type : `${shape.type} (${format})`;
  return name === undefined ? type : `${name} (${type})`;
}
