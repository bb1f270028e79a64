import { type Form, partsOf, type Shape } from "@quicrpc/core/generated";

/** A schema as analyses need it: a shape, or what stands for one. */
export interface Described<Part> {
  readonly form: Form<Part, unknown>;
  readonly optin?: "optional" | "defaulted" | undefined;
}

/** Returns what `part` is. */
export type Describe<Part> = (part: Part) => Described<Part>;

export function isPart<Part>(others: "strip" | "strict" | Part): others is Part {
  return others !== "strip" && others !== "strict";
}

/** Whether a value of `part` may be other in a program than its JSON is: dates, bytes, bigints, maps and sets, wherever they are. */
export function hasOwnForms<Part>(part: Part, describe: Describe<Part>, seen: Set<Part> = new Set()): boolean {
  if (seen.has(part)) return false;
  seen.add(part);
  const { form } = describe(part);
  if (OWN_FORMS.has(form.kind)) return true;
  if (form.kind === "literal") return form.values.some((value) => typeof value === "bigint");
  return partsOf(form).some((each) => hasOwnForms(each, describe, seen));
}

const OWN_FORMS: ReadonlySet<string> = new Set(["date", "bytes", "bigint", "set", "map"]);

/** The structure of an object. */
export type ObjectForm<Part> = Extract<Form<Part, unknown>, { readonly kind: "object" }>;

/** Returns the object that `part` is, or that it is an intersection of; undefined for anything else. */
export function objectOf<Part>(part: Part, describe: Describe<Part>): ObjectForm<Part> | undefined {
  const { form } = describe(part);
  switch (form.kind) {
    case "object":
      return form;
    case "intersection": {
      const left = objectOf(form.left, describe);
      const right = objectOf(form.right, describe);
      if (left === undefined || right === undefined) return undefined;
      const others = isPart(left.others) ? left.others : right.others;
      return { kind: "object", fields: { ...left.fields, ...right.fields }, others };
    }
    case "frozen":
    case "refined":
      return objectOf(form.inner, describe);
    case "lazy":
      return objectOf(form.inner(), describe);
    default:
      return undefined;
  }
}

/** The description of a shape, which it brings itself. */
export function shapeAsIs(shape: Shape): Shape {
  return shape;
}
