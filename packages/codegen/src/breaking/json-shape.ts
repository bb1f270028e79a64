import type { Form } from "@quicrpc/core/generated";
import { type Describe, jsonProblem } from "@quicrpc/http/openapi";
import { type MethodSnapshot, type Shape, type ShapeTypes, valueOfLiteral } from "../shape/shape.js";

/** Explains why clients over HTTP cannot call a method in plain JSON; undefined if they can. */
export function withoutJson({ input, output }: MethodSnapshot, types: ShapeTypes): string | undefined {
  for (const shape of [input, output]) {
    const problem = shape && jsonProblem<Part>(shape, describeIn(types));
    if (problem !== undefined) return problem.reason;
  }
  return undefined;
}

/** A shape, or an optional one. */
type Part = Shape | Optional;

interface Optional {
  readonly type: "optional";
  readonly inner: Shape;
}

function describeIn(types: ShapeTypes): Describe<Part> {
  // One object per shape, because shapes are compared by identity.
  const optionals = new Map<Shape, Optional>();
  const optional = (inner: Shape): Optional => {
    const known = optionals.get(inner) ?? { type: "optional", inner };
    optionals.set(inner, known);
    return known;
  };
  return (part) => ({
    form: formOf(part, types, optional),
    optin: part.type === "optional" ? "optional" : undefined,
  });
}

function formOf(part: Part, types: ShapeTypes, optional: (inner: Shape) => Optional): Form<Part> {
  switch (part.type) {
    case "string":
    case "number":
    case "bigint":
    case "date":
      return { kind: part.type, checks: [] };
    case "opaque":
      return { kind: "any" };
    case "raw":
      return { kind: "bytes" };
    case "literal":
      return { kind: "literal", values: part.values.map(valueOfLiteral) };
    case "object": {
      const absent = new Set(part.optional);
      const fields = Object.entries(part.fields).map(([name, field]): [string, Part] => [
        name,
        absent.has(name) ? optional(field) : field,
      ]);
      const { rest = "strip" } = part;
      return { kind: "object", fields: Object.fromEntries(fields), others: rest === "refused" ? "strict" : rest };
    }
    case "array":
    case "set":
      return { kind: part.type, element: part.items, checks: [] };
    case "tuple":
      return { kind: "tuple", items: part.items, rest: part.rest };
    case "record":
      return { kind: "record", keys: {}, element: part.value };
    case "map":
      return { kind: "map", key: part.key, element: part.value, checks: [] };
    case "union":
      return { kind: "union", options: part.options };
    case "intersection": {
      const [left, ...others] = part.parts;
      const right: Shape | undefined = others.length > 1 ? { type: "intersection", parts: others } : others[0];
      if (left === undefined) return { kind: "never" };
      return right === undefined ? formOf(left, types, optional) : { kind: "intersection", left, right };
    }
    case "ref":
      return { kind: "lazy", inner: () => types[part.name] ?? { type: "any" } };
    case "optional":
      return { kind: "optional", inner: part.inner };
    default:
      return { kind: part.type };
  }
}
