import { CONTAINERS, type Form, partsOf, placesOf, type Shape } from "@quicrpc/core/generated";

/** A schema for these analyses: a shape, or a node of the generator. */
export interface Described<Part> {
  readonly form: Form<Part, unknown>;
  readonly optin?: "optional" | "defaulted" | undefined;
}

/** Returns the description of `part`. */
export type Describe<Part> = (part: Part) => Described<Part>;

function isPart<Part>(others: "strip" | "strict" | Part): others is Part {
  return others !== "strip" && others !== "strict";
}

/** Returns true if a value of `part`, or a value inside it, may differ from its JSON: dates, bytes, bigints, maps and sets. */
export function hasOwnForms<Part>(part: Part, describe: Describe<Part>, seen: Set<Part> = new Set()): boolean {
  if (seen.has(part)) return false;
  seen.add(part);
  const { form } = describe(part);
  if (OWN_FORMS.has(form.kind)) return true;
  if (form.kind === "literal") return form.values.some((value) => typeof value === "bigint");
  return partsOf(form).some((each) => hasOwnForms(each, describe, seen));
}

const OWN_FORMS: ReadonlySet<string> = new Set(["date", "bytes", "bigint", "set", "map"]);

/** The form of an object. */
export type ObjectForm<Part> = Extract<Form<Part, unknown>, { readonly kind: "object" }>;

/** Returns the form of `part` without wrappers that do not change values. */
export function unwrapped<Part>(part: Part, describe: Describe<Part>): Form<Part, unknown> {
  const { form } = describe(part);
  if (form.kind === "lazy") return unwrapped(form.inner(), describe);
  return form.kind === "frozen" || form.kind === "refined" ? unwrapped(form.inner, describe) : form;
}

/** Returns the forms that values of `parts` may have, without the wrappers around them. */
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

/** Returns the object form of `part`, or of an intersection's; undefined for other schemas. */
export function objectOf<Part>(part: Part, describe: Describe<Part>): ObjectForm<Part> | undefined {
  const form = unwrapped(part, describe);
  if (form.kind !== "intersection") return form.kind === "object" ? form : undefined;
  const left = objectOf(form.left, describe);
  const right = objectOf(form.right, describe);
  if (left === undefined || right === undefined) return undefined;
  const others = isPart(left.others) ? left.others : right.others;
  return { kind: "object", fields: { ...left.fields, ...right.fields }, others };
}

/** Describes a shape, which is its own description. */
export function shapeAsIs(shape: Shape): Shape {
  return shape;
}
