import { CONTAINERS, type Form, partsOf, placesOf } from "@quicrpc/core/internal";
import type { Shape } from "@quicrpc/core/codec";

/** A schema as the JSON analyses see it: a shape at run time, or a schema node of the generator. */
export interface Described<Part> {
  readonly form: Form<Part, unknown>;
  readonly optin?: "optional" | "defaulted" | undefined;
}

/** Returns the structure of the schema `part`. */
export type Describe<Part> = (part: Part) => Described<Part>;

function isPart<Part>(others: "strip" | "strict" | Part): others is Part {
  return others !== "strip" && others !== "strict";
}

/**
 * Returns true if a value of `part`, or a nested value, may differ from its JSON, as dates, bytes, bigints, maps and
 * sets do.
 */
export function hasOwnForms<Part>(part: Part, describe: Describe<Part>, seen: Set<Part> = new Set()): boolean {
  if (seen.has(part)) return false;
  seen.add(part);
  const { form } = describe(part);
  if (OWN_FORMS.has(form.kind)) return true;
  if (form.kind === "literal") return form.values.some((value) => typeof value === "bigint");
  return partsOf(form).some((each) => hasOwnForms(each, describe, seen));
}

const OWN_FORMS: ReadonlySet<string> = new Set(["date", "bytes", "bigint", "set", "map"]);

/** What an object consists of that matches several schemas. */
export interface ObjectParts<Part> {
  readonly fields: Readonly<Record<string, readonly Part[]>>;
  readonly others: "strip" | "strict" | Part;
}

/** Returns the structure of `part` without wrappers that do not change values. */
export function unwrapped<Part>(part: Part, describe: Describe<Part>): Form<Part, unknown> {
  const { form } = describe(part);
  if (form.kind === "lazy") return unwrapped(form.inner(), describe);
  return form.kind === "frozen" || form.kind === "refined" ? unwrapped(form.inner, describe) : form;
}

/** Returns the structures that values of `parts` may have: without wrappers, and one for each option of a union. */
export function basesOf<Part>(parts: readonly Part[], describe: Describe<Part>): Form<Part, unknown>[] {
  const bases: Form<Part, unknown>[] = [];
  const found = new Set(parts);
  for (const part of found) {
    const { form } = describe(part);
    const inside = CONTAINERS.has(form.kind) ? [] : placesOf(form);
    if (inside.length === 0) bases.push(form);
    for (const { slot, part: inner } of inside) if (slot !== "to") found.add(inner);
  }
  return bases;
}

/** Wrappers of values that may be absent. */
const ABSENCE: ReadonlySet<string> = new Set(["optional", "exactOptional", "default", "prefault", "nonOptional"]);

/** Returns the parts of an object that matches all of `parts`; undefined if they are not all objects, or intersections of objects. */
export function objectOf<Part>(parts: readonly Part[], describe: Describe<Part>): ObjectParts<Part> | undefined {
  const fields: Record<string, Part[]> = {};
  let others: ObjectParts<Part>["others"] = "strip";
  const add = (part: Part): boolean => {
    const form = unwrapped(part, describe);
    if (form.kind === "intersection") return add(form.left) && add(form.right);
    if (ABSENCE.has(form.kind) && "inner" in form) return add(form.inner as Part);
    if (form.kind !== "object") return false;
    for (const [name, field] of Object.entries(form.fields)) {
      const known = Object.hasOwn(fields, name) ? (fields[name] as Part[]) : [];
      if (!known.includes(field)) fields[name] = [...known, field];
    }
    if (!isPart(others)) others = form.others;
    return true;
  };
  return parts.every(add) ? { fields, others } : undefined;
}

/** Returns true if `parts`, which a value matches together, are one part, or have no parts of their own. */
export function isSingle<Part>(parts: readonly Part[], describe: Describe<Part>): boolean {
  return new Set(parts).size === 1 || !basesOf(parts, describe).some(({ kind }) => CONTAINERS.has(kind));
}

/** The `Describe` function for shapes: returns the shape itself. */
export function shapeAsIs(shape: Shape): Shape {
  return shape;
}
