import type { Form } from "@quicrpc/core/generated";
import type { Described } from "@quicrpc/http/openapi";
import type { CodecNode, RecordKeysNode } from "./node.js";

/** Describes a node as shapes do at run time, so that one analysis reads both. */
export function describeNode(node: CodecNode): Described<CodecNode> {
  return { form: formOf(node), optin: node.schema._zod.optin };
}

function formOf(node: CodecNode): Form<CodecNode> {
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
      return { kind: node.kind, checks: [] };
    case "boolean":
    case "bytes":
    case "any":
    case "never":
      return { kind: node.kind };
    case "literal":
    case "template":
    case "tuple":
    case "union":
    case "intersection":
    case "pipe":
      return node;
    case "nullable":
    case "nonOptional":
    case "frozen":
      return { kind: node.kind, inner: node.inner };
    case "nil":
      return { kind: "null" };
    case "nothing":
      return { kind: "undefined" };
    case "object": {
      const fields = Object.fromEntries(node.fields.map((field) => [field.name, field.node]));
      const others = node.others === "loose" ? anythingIn(node) : node.others;
      return { kind: "object", fields, others };
    }
    case "array":
    case "set":
      return { kind: node.kind, element: node.element, checks: [] };
    case "map":
      return { kind: "map", key: node.key, element: node.element, checks: [] };
    case "record":
      return { kind: "record", keys: keysOf(node.keys), element: node.element };
    case "discriminated": {
      const options = node.options.flatMap(({ values, node: each }) => values.map((value) => [value, each] as const));
      return { kind: "discriminated", key: node.key, options };
    }
    case "optional":
    case "exactOptional":
      return { kind: "optional", inner: node.inner };
    case "default":
    case "prefault":
    case "caught":
      return { kind: node.kind, inner: node.inner, value: () => undefined };
    case "refined":
      return { kind: "refined", inner: node.inner, schema: node.schema };
    case "external":
      return { kind: "external", schema: node.schema };
    case "open":
      throw new Error("A schema was described before it was known.");
  }
}

/** The other keys of a loose object. */
function anythingIn({ schema, at }: CodecNode): CodecNode {
  return { schema, at, kind: "any" };
}

function keysOf(keys: RecordKeysNode): Extract<Form<CodecNode>, { kind: "record" }>["keys"] {
  switch (keys.kind) {
    case "any":
      return {};
    case "fit":
      return { fit: keys.fit };
    default:
      return { [keys.kind]: keys.names, fit: keys.fit };
  }
}
