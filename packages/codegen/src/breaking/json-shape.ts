import type { Form } from "@quicrpc/core/internal";
import { jsonProblem } from "@quicrpc/http/openapi";
import { type MethodSnapshot, type Shape, type ShapeTypes, valueOfLiteral } from "../shape/shape.js";

/** Explains why clients over HTTP cannot call a method in plain JSON; undefined if they can. */
export function reasonWithoutJson({ input, output }: MethodSnapshot, types: ShapeTypes): string | undefined {
  for (const shape of [input, output]) {
    const problem =
      shape &&
      jsonProblem<Shape>(shape, (part) => ({
        form: formOf(part, types),
        optin: part.optional === true ? "optional" : undefined,
      }));
    if (problem !== undefined) return problem.reason;
  }
  return undefined;
}

function formOf(shape: Shape, types: ShapeTypes): Form<Shape, unknown> {
  switch (shape.kind) {
    case "opaque":
      return { kind: "any" };
    case "raw":
      return { kind: "bytes" };
    case "literal":
      return { kind: "literal", values: shape.values.map(valueOfLiteral) };
    case "ref":
      return { kind: "lazy", inner: () => types[shape.name] ?? { kind: "any" } };
    case "object":
      return { ...shape, others: shape.others ?? "strip" };
    default:
      return shape as Form<Shape, unknown>;
  }
}
