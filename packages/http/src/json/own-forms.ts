import type { Form, Shape } from "@quicrpc/core/generated";

/** A schema as analyses need it: a shape, or what stands for one. */
export interface Described<Part> {
  readonly form: Form<Part>;
  readonly optin?: "optional" | "defaulted" | undefined;
}

/** Returns what `part` is. */
export type Describe<Part> = (part: Part) => Described<Part>;

/** Lists the parts directly inside a form that a value of it may have. */
function partsOf<Part>(form: Form<Part>): Part[] {
  switch (form.kind) {
    case "object":
      return [...Object.values(form.fields), ...(isPart(form.others) ? [form.others] : [])];
    case "array":
    case "set":
    case "record":
      return [form.element];
    case "map":
      return [form.key, form.element];
    case "tuple":
      return [...form.items, ...(form.rest === undefined ? [] : [form.rest])];
    case "union":
      return [...form.options];
    case "discriminated":
      return form.options.map(([, option]) => option);
    case "intersection":
      return [form.left, form.right];
    case "pipe":
      return [form.from];
    case "lazy":
      return [form.inner()];
    default:
      return "inner" in form ? [form.inner] : [];
  }
}

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
export type ObjectForm<Part> = Extract<Form<Part>, { readonly kind: "object" }>;

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
