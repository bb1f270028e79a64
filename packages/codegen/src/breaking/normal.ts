import { CONTAINERS } from "@quicrpc/core/internal";
import { ownValue } from "../schema/node.js";
import { mergeChecks } from "../shape/checks.js";
import {
  type Checks,
  type LiteralValue,
  type Shape,
  type ShapeOf,
  type ShapeTypes,
  shapeTypeName,
  valueOfLiteral,
} from "../shape/shape.js";
import { compareChecks } from "./compare-checks.js";
import { fitsChecks } from "./fits-checks.js";

/** One of the types that a shape may have. Each literal value is an alternative. */
export type Alternative =
  | Exclude<Shape, { readonly kind: "ref" | "union" | "literal" | "never" }>
  | { readonly kind: "literal"; readonly value: LiteralValue; readonly checks?: Checks };

export interface Named {
  readonly name: string | undefined;
  readonly shape: Alternative;
}

/** Returns all types that a value of `shape` may have, following references and unions. */
export function alternatives(shape: Shape, types: ShapeTypes, name?: string, depth = 0): Named[] {
  switch (shape.kind) {
    case "ref": {
      const target = types[shape.name];
      if (target === undefined || depth > 50) return [{ name, shape: { kind: "opaque" } }];
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
        shape: withMore({ kind: "literal", value }, shape.checks),
      }));
    case "never":
      return [];
    case "intersection": {
      const merged = mergeObjects(intersectionParts(shape), types);
      return [{ name, shape: merged === undefined ? shape : withMore(merged, shape.checks) }];
    }
    default:
      return [{ name, shape }];
  }
}

/** Merges the objects of an intersection into one object; returns undefined if one of the parts is not an object. */
function mergeObjects(parts: readonly Shape[], types: ShapeTypes): ShapeOf<"object"> | undefined {
  const fields: Record<string, Shape> = {};
  let checks: Checks | undefined;
  for (const part of parts) {
    const [only, ...others] = alternatives(part, types);
    if (only?.shape.kind !== "object" || others.length > 0 || only.shape.others !== undefined) return undefined;
    if (only.shape.checks !== undefined) checks = mergeChecks(checks, only.shape.checks);
    for (const [name, field] of Object.entries(only.shape.fields)) {
      const known = ownValue(fields, name);
      fields[name] = known === undefined ? field : intersect(known, field, types);
    }
  }
  return { kind: "object", fields, ...(checks === undefined ? {} : { checks }) };
}

/**
 * Cache of intersections, by the types of a version and by their text. A recursive type must always lead to the same
 * shape.
 */
const intersections = new WeakMap<ShapeTypes, Map<string, Shape>>();

/** Returns the intersection of two fields. It is optional only if both are. */
function intersect(a: Shape, b: Shape, types: ShapeTypes): Shape {
  const both = [a, b].flatMap(intersected).map((part): Shape => {
    const { optional: _, ...required } = part;
    return required;
  });
  const parts = new Map(both.map((part) => [JSON.stringify(part), part]));
  const facts = a.optional === true && b.optional === true ? { optional: true as const } : {};
  const known = intersections.get(types) ?? new Map<string, Shape>();
  intersections.set(types, known);
  const text = [...parts.keys(), JSON.stringify(facts)].join();
  const whole = [...parts.values()].reduce((left, right) => ({ kind: "intersection", left, right }));
  const shape = known.get(text) ?? { ...whole, ...facts };
  known.set(text, shape);
  return shape;
}

/** Returns the parts of an intersection, including the parts of nested intersections. */
export function intersectionParts({ left, right }: ShapeOf<"intersection">): Shape[] {
  return [left, right].flatMap((part) => intersected(part));
}

function intersected(shape: Shape): Shape[] {
  return shape.kind === "intersection" && shape.checks === undefined ? intersectionParts(shape) : [shape];
}

/**
 * Returns how many values of the type `part` also belong to the type `whole`, for types that do not contain other
 * types.
 */
export function coverage(whole: Alternative, part: Alternative): "all" | "some" | "none" {
  if (!hasTypeOf(whole, part)) return "none";
  const type = part.kind === "literal" ? typeOf(part.value) : part.kind;
  // Converting a value to the type that it already has does not change it.
  const checks = whole.checks?.others?.join() === `to ${type}` ? whole.checks.changed : whole.checks;
  // `part` accepts every value, because it replaces invalid ones.
  if (part.checks?.lenient === true && checks?.lenient !== true) return "some";
  if (part.kind === "literal" && whole.kind !== "literal") return fitsChecks(part.value, checks) ? "all" : "some";
  const isNarrower = compareChecks(part.checks, checks).some(({ kind }) => kind !== "check-loosened");
  return isNarrower ? "some" : "all";
}

/** Returns true if values of `part` have the type of `whole`, regardless of checks. */
export function hasTypeOf(whole: Alternative, part: Alternative): boolean {
  if (whole.kind === "any") return true;
  if (part.kind === "intersection" || CONTAINERS.has(part.kind)) return false;
  if (part.kind !== "literal") return shapeTypeName(whole) === shapeTypeName(part);
  const { value } = part;
  if (whole.kind === "literal") return JSON.stringify(whole.value) === JSON.stringify(value);
  return whole.kind === typeOf(value);
}

function typeOf(value: LiteralValue): string {
  const plain = valueOfLiteral(value);
  return plain === null ? "null" : typeof plain;
}

function withMore(shape: Alternative, more: Checks | undefined): Alternative {
  return more === undefined ? shape : { ...shape, checks: mergeChecks(shape.checks, more) };
}

/**
 * Returns a text of the literal fields by which an object can be identified, as in a discriminated union; undefined if
 * it has none.
 */
export function literalTags(shape: Alternative): string | undefined {
  if (shape.kind !== "object") return undefined;
  const tags = Object.entries(shape.fields).flatMap(([name, field]) =>
    field.kind === "literal" && field.values.length === 1 ? [`${name}=${JSON.stringify(field.values[0])}`] : [],
  );
  return tags.length === 0 ? undefined : tags.sort().join();
}

export function describeShape(shape: Alternative, name?: string): string {
  if (shape.kind === "literal") {
    const { value } = shape;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    return "bigint" in value ? `${value.bigint}n` : value.number;
  }
  if (shape.kind === "object") return literalTags(shape) ?? name ?? "an object";
  if (shape.kind === "array" || shape.kind === "set") {
    const { element } = shape;
    return `${shape.kind}<${element.kind === "ref" ? element.name : element.kind}>`;
  }
  const { format } = shape.checks ?? {};
  const type = format === undefined ? shapeTypeName(shape) : `${shape.kind} (${format})`;
  return name === undefined ? type : `${name} (${type})`;
}
