import { ownValue } from "../schema/node.js";
import {
  isPartial,
  keysOf,
  type Shape,
  type ShapeOf,
  type ShapeTypes,
  type TableShape,
  shapeTypeName,
} from "../shape/shape.js";
import type { ShapeChangeKind } from "./change.js";
import { compareChecks } from "./compare-checks.js";
import {
  type Alternative,
  alternatives,
  coverage,
  describeShape,
  hasTypeOf,
  type Named,
  intersectionParts,
  literalTags,
} from "./normal.js";

export type ReportShapeChange = (kind: ShapeChangeKind, path: string, message: string) => void;

export interface VersionedShape {
  readonly shape: Shape;
  readonly types: ShapeTypes;
}

/**
 * Reports the differences between two versions of the message at `path`. The differences of a named type are reported
 * only where it occurs first.
 */
export function compareShapes(
  before: VersionedShape,
  after: VersionedShape,
  path: string,
  report: ReportShapeChange,
): void {
  new ShapeComparison(before.types, after.types, report).compare(before.shape, after.shape, path);
}

class ShapeComparison {
  readonly #oldTypes: ShapeTypes;
  readonly #newTypes: ShapeTypes;
  readonly #report: ReportShapeChange;
  /**
   * Pairs of shapes that were compared or are being compared. It prevents endless recursion, since types may be
   * recursive.
   */
  readonly #met = new Map<Shape, Set<Shape>>();

  constructor(oldTypes: ShapeTypes, newTypes: ShapeTypes, report: ReportShapeChange) {
    this.#oldTypes = oldTypes;
    this.#newTypes = newTypes;
    const reported = new Set<string>();
    // A check of a union is stored with each of its options, so equal reports are made only once.
    this.#report = (kind, path, message) => {
      const text = `${kind} ${path} ${message}`;
      if (reported.has(text)) return;
      reported.add(text);
      report(kind, path, message);
    };
  }

  compare(before: Shape, after: Shape, path: string): void {
    const [old, now] = [definition(before, this.#oldTypes), definition(after, this.#newTypes)];
    const met = this.#met.get(old) ?? new Set();
    if (met.has(now)) return;
    this.#met.set(old, met.add(now));
    const oldOnes = alternatives(before, this.#oldTypes);
    const newOnes = alternatives(after, this.#newTypes);
    const pairs = pairUp(oldOnes, newOnes);
    const paired = new Set(pairs.values());
    const [removed, narrowed] = without(
      oldOnes.filter((each) => !pairs.has(each)),
      newOnes,
    );
    const [added, widened] = without(
      newOnes.filter((each) => !paired.has(each)),
      oldOnes,
    );
    if (oldOnes.length === 1 && newOnes.length === 1 && removed.length === 1 && added.length === 1) {
      this.#report("type-changed", path, `the type was ${describe(removed)} and is ${describe(added)}`);
    } else {
      for (const each of added) this.#report(addition(each), path, `may now be ${describe([each])}`);
      for (const each of removed) this.#report(removal(each), path, `can no longer be ${describe([each])}`);
    }
    for (const each of widened)
      this.#report("check-loosened", path, `${describe([each])} is no longer held to other checks`);
    for (const each of narrowed)
      this.#report("check-tightened", path, `${describe([each])} is held to other checks now`);
    const several = pairs.size > 1;
    for (const [old, now] of pairs) {
      // The sender of a union sends undeclared fields of its options, too.
      if (newOnes.length > 1 && isStrict(old) && !isStrict(now) && now.shape.kind === "object")
        this.#report("check-loosened", path, `${describe([now])} may have fields that it does not declare`);
      const tag = several ? literalTags(now.shape) : undefined;
      this.#alternative(old.shape, now.shape, tag === undefined ? path : `${path}(${tag})`);
    }
  }

  #alternative(before: Alternative, after: Alternative, path: string): void {
    for (const { kind, message } of compareChecks(before.checks, after.checks)) this.#report(kind, path, message);
    if (before.kind === "object" && after.kind === "object") return this.#object(before, after, path);
    if (isList(before) && isList(after)) return this.compare(before.element, after.element, `${path}[]`);
    if (before.kind === "tuple" && after.kind === "tuple") return this.#tuple(before, after, path);
    if (isTable(before) && isTable(after)) {
      this.#keys(before, after, path);
      this.compare(before.element, after.element, `${path}{}`);
      if (isPartial(before) === isPartial(after)) return;
      const kind = isPartial(after) ? "keys-now-optional" : "keys-now-required";
      this.#report(kind, path, isPartial(after) ? "keys may now be left out" : "every key is now required");
    } else if (before.kind === "intersection" && after.kind === "intersection") {
      const [parts, others] = [intersectionParts(before), intersectionParts(after)];
      if (parts.length !== others.length) return this.#report("type-changed", path, "the intersection has other parts");
      for (const [index, part] of parts.entries()) this.compare(part, others[index] as Shape, path);
    }
  }

  /** Compares the keys of two records or maps. A finite set of keys is compared like the fields of a strict object. */
  #keys(before: TableShape, after: TableShape, path: string): void {
    const [old, now] = [this.#finiteKeys(before, this.#oldTypes), this.#finiteKeys(after, this.#newTypes)];
    if (old === undefined || now === undefined) return this.compare(keysOf(before), keysOf(after), `${path}{key}`);
    const any: Shape = { kind: "any" };
    const asObject = (keys: readonly string[], table: TableShape): ShapeOf<"object"> => ({
      kind: "object",
      fields: Object.fromEntries(keys.map((key) => [key, isPartial(table) ? { ...any, optional: true } : any])),
      others: "strict",
    });
    // If a key is in both versions, a change of whether keys are optional is reported by the caller.
    const kept = now.filter((key) => old.includes(key));
    const without = (keys: readonly string[]): string[] => keys.filter((key) => !kept.includes(key));
    this.#object(asObject(without(old), before), asObject(without(now), after), path);
  }

  /**
   * Returns the keys of a record whose keys are literals. Returns undefined for other records and for maps, which need
   * not contain all keys.
   */
  #finiteKeys(table: TableShape, types: ShapeTypes): string[] | undefined {
    if (table.kind === "map") return undefined;
    const keys = alternatives(keysOf(table), types).map(({ shape }) => {
      const isKey = shape.kind === "literal" && (typeof shape.value === "string" || typeof shape.value === "number");
      return isKey ? String(shape.value) : undefined;
    });
    return keys.every((each) => each !== undefined) ? keys : undefined;
  }

  #object(before: ShapeOf<"object">, after: ShapeOf<"object">, path: string): void {
    for (const [name, field] of Object.entries(before.fields)) {
      const at = `${path}.${name}`;
      const now = ownValue(after.fields, name);
      if (now === undefined) {
        this.#report(
          field.optional === true ? "field-removed-optional" : "field-removed-required",
          at,
          "the field is gone",
        );
        if (after.others === "strict")
          this.#report("field-removed-refused", at, "the field is gone, and unknown fields are refused");
        if (typeof after.others === "object") this.compare(field, after.others, at);
        continue;
      }
      if (field.optional === true && now.optional !== true)
        this.#report("field-now-required", at, "the field is now required");
      if (field.optional !== true && now.optional === true)
        this.#report("field-now-optional", at, "the field may now be left out");
      this.compare(field, now, at);
    }
    for (const [name, field] of Object.entries(after.fields)) {
      if (Object.hasOwn(before.fields, name)) continue;
      const at = `${path}.${name}`;
      if (field.optional !== true) this.#report("field-added-required", at, "a new field, which is required");
      else this.#report("field-added-optional", at, "a new field, which may be left out");
      if (before.others === "strict")
        this.#report("field-added-refused", at, "a new field, which the version before refuses");
      if (typeof before.others === "object") this.compare(before.others, field, at);
    }
    this.#others(before.others, after.others, path);
  }

  /** Compares how two versions of an object treat undeclared keys. */
  #others(before: Others, after: Others, path: string): void {
    if (typeof before === "object" && typeof after === "object") return this.compare(before, after, `${path}{}`);
    if (typeof before === "object") {
      const kind = after === "strict" ? "others-removed-refused" : "others-removed";
      return this.#report(kind, path, "fields other than those declared are no longer kept");
    }
    if (typeof after === "object") {
      const kind = before === "strict" ? "others-added-refused" : "others-added";
      return this.#report(kind, path, "there may now be other fields than those declared");
    }
    if (after === "strict" && before === undefined)
      this.#report("others-refused", path, "unknown fields are now refused");
    if (before === "strict" && after === undefined)
      this.#report("others-dropped", path, "unknown fields are now dropped");
  }

  #tuple(before: ShapeOf<"tuple">, after: ShapeOf<"tuple">, path: string): void {
    for (const [index, item] of before.items.entries()) {
      const now = after.items[index] ?? after.rest;
      if (now === undefined) this.#report("items-removed", `${path}[${index}]`, "the item is gone");
      else this.compare(item, now, `${path}[${index}]`);
    }
    for (const [index, item] of after.items.entries()) {
      if (index < before.items.length) continue;
      const at = `${path}[${index}]`;
      const isRequired = index < after.required;
      if (before.rest !== undefined) {
        // In the old version, the item was one of any number of items.
        const given = isRequired ? item : withoutUndefined(item);
        this.compare(before.rest, given, at);
        if (given !== item) this.#report("type-widened", at, "may now be undefined");
        if (isRequired) this.#report("field-now-required", at, "the item is now required");
      } else if (isRequired) this.#report("items-added", at, "a new item, which is required");
      else this.#report("option-added", at, "a new item, which may be left out");
    }
    if (before.required > after.required && (after.items.length >= before.items.length || after.rest !== undefined)) {
      this.#report(
        "field-now-optional",
        path,
        `only ${after.required} items are required, no longer ${before.required}`,
      );
    }
    if (before.required < after.required && after.required <= before.items.length) {
      this.#report("field-now-required", path, `${after.required} items are required, no longer ${before.required}`);
    }
    if (before.rest !== undefined && after.rest !== undefined) this.compare(before.rest, after.rest, `${path}[]`);
    else if (before.rest !== undefined) this.#report("option-removed", path, "there can no longer be further items");
    else if (after.rest !== undefined) this.#report("option-added", path, "there may now be further items");
  }
}

/**
 * Returns the type that a reference refers to. Returns `shape` itself if it is not a reference, or has its own checks,
 * because those are compared at each use.
 */
function definition(shape: Shape, types: ShapeTypes): Shape {
  if (shape.kind !== "ref" || shape.checks !== undefined || shape.more !== undefined) return shape;
  return types[shape.name] ?? shape;
}

type Others = ShapeOf<"object">["others"];

function isList(shape: Alternative): shape is ShapeOf<"array" | "set"> {
  return shape.kind === "array" || shape.kind === "set";
}

function isStrict({ shape }: Named): boolean {
  return shape.kind === "object" && shape.others === "strict";
}

/** Removes the option `undefined` from a union. */
function withoutUndefined(shape: Shape): Shape {
  return shape.kind === "union"
    ? { ...shape, options: shape.options.filter(({ kind }) => kind !== "undefined") }
    : shape;
}

function isTable(shape: Alternative): shape is TableShape {
  return shape.kind === "record" || shape.kind === "map";
}

/**
 * Returns the kind of difference for an added option. For null, undefined and `any` it is "type-widened", because
 * programs seldom depend on them.
 */
function addition({ shape }: Named): ShapeChangeKind {
  return isPlain(shape) ? "type-widened" : "option-added";
}

function removal({ shape }: Named): ShapeChangeKind {
  return isPlain(shape) ? "type-narrowed" : "option-removed";
}

function isPlain({ kind }: Alternative): boolean {
  return kind === "null" || kind === "undefined" || kind === "any";
}

/**
 * Compares two lists of alternatives. Returns the members of `ones` whose type is missing in `others`, and those that
 * `others` contains only with additional checks.
 */
function without(ones: readonly Named[], others: readonly Named[]): [absent: Named[], narrowed: Named[]] {
  const found = (each: Named, ...kinds: readonly string[]): boolean =>
    others.some((other) => kinds.includes(coverage(other.shape, each.shape)));
  return [
    ones.filter((each) => !found(each, "some", "all")),
    ones.filter((each) => found(each, "some") && !found(each, "all")),
  ];
}

function describe(ones: readonly Named[]): string {
  return ones.map(({ shape, name }) => describeShape(shape, name)).join(" or ");
}

function pairUp(before: readonly Named[], after: readonly Named[]): Map<Named, Named> {
  const pairs = new Map<Named, Named>();
  const taken = new Set<Named>();
  const rules: readonly ((old: Named, now: Named) => boolean)[] = [
    ({ shape: a }, { shape: b }) => JSON.stringify(a) === JSON.stringify(b),
    ({ shape: a }, { shape: b }) => a.kind === "literal" && b.kind === "literal" && hasTypeOf(a, b),
    ({ shape: a }, { shape: b }) => literalTags(a) !== undefined && literalTags(a) === literalTags(b),
    (a, b) => a.name !== undefined && a.name === b.name && a.shape.kind === b.shape.kind,
    ({ shape: a }, { shape: b }) =>
      shapeTypeName(a) === shapeTypeName(b) &&
      a.kind !== "literal" &&
      (a.kind !== "object" || literalTags(a) === undefined || literalTags(b) === undefined),
    // If both versions have only one object, the two correspond even if their discriminators differ.
    ({ shape: a }, { shape: b }) =>
      a.kind === "object" && b.kind === "object" && before.length === 1 && after.length === 1,
  ];
  for (const rule of rules) {
    for (const old of before) {
      if (pairs.has(old)) continue;
      const now = after.find((each) => !taken.has(each) && rule(old, each));
      if (now === undefined) continue;
      pairs.set(old, now);
      taken.add(now);
    }
  }
  return pairs;
}
