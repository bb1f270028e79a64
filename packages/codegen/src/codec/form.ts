import type { Described } from "@quicrpc/http/openapi";
import type { SchemaNode } from "../schema/node.js";
import { takenOf } from "./parts.js";

/** Describes a node in the same way as a shape at run time, so that one analysis works for both. */
export function describeNode(node: SchemaNode): Described<SchemaNode> {
  switch (node.kind) {
    // Structures that only zod runs are always inside others.
    case "custom":
    case "transform":
    case "other":
    case "success":
    case "open":
      throw new Error(`A schema of kind ${node.kind} has no form.`);
    case "external":
      return { form: { kind: "external", schema: node.schema, takes: takenOf(node) }, optin: node.optin };
    default:
      return { form: node, optin: node.optin };
  }
}
