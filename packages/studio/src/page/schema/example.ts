import { choicesOf, itemOf, memberOf, membersOf, resolved, type JsonSchema } from "@quicrpc/services/json-schema";
import { fieldOf } from "./field.js";

const MAX_DEPTH = 8;
/** Maximum number of items in an example if the schema requires more. */
const MAX_ITEMS = 3;

/**
 * Returns an example that matches a schema, as JSON that a user would type. It is as small as possible, with all
 * required members.
 */
export function exampleOf(part: unknown, root: JsonSchema, now: Date = new Date(), depth = 0): unknown {
  const resolvedSchema = resolved(part, root);
  if (resolvedSchema === undefined || depth > MAX_DEPTH) return null;
  if ("default" in resolvedSchema) return resolvedSchema["default"];
  if (Array.isArray(resolvedSchema["examples"]) && resolvedSchema["examples"].length > 0)
    return resolvedSchema["examples"][0];
  const inner = (child: unknown): unknown => exampleOf(child, root, now, depth + 1);
  const { kind, schema } = fieldOf(resolvedSchema, root);
  const { enum: values, minimum, exclusiveMinimum, minLength, minItems, prefixItems, format } = schema;
  switch (kind) {
    case "const":
      return schema["const"];
    case "enum":
      return (values as readonly unknown[])[0];
    case "choice": {
      const choices = choicesOf(schema) ?? [];
      return inner(choices.find((choice) => resolved(choice, root)?.["type"] !== "null") ?? choices[0]);
    }
    case "object":
      return Object.fromEntries(membersOf(schema).required.map((name) => [name, inner(memberOf(schema, name))]));
    case "array": {
      const count = Array.isArray(prefixItems) ? prefixItems.length : Math.min(Number(minItems ?? 0), MAX_ITEMS);
      return Array.from({ length: count }, (_, index) => inner(itemOf(schema, index)));
    }
    case "text":
      return textExample(format, typeof minLength === "number" ? minLength : 0);
    case "number":
      if (typeof minimum === "number" && minimum > 0) return minimum;
      return typeof exclusiveMinimum === "number" && exclusiveMinimum >= 0 ? exclusiveMinimum + 1 : 0;
    case "date":
      return now.toISOString();
    case "bigint":
      return "0";
    case "bytes":
      return "";
    case "boolean":
      return false;
    default:
      return null;
  }
}

function textExample(format: unknown, minLength: number): string {
  switch (format) {
    case "email":
      return "somebody@example.org";
    case "uuid":
      return "00000000-0000-4000-8000-000000000000";
    case "uri":
      return "https://example.org/";
    default:
      return "x".repeat(Math.min(minLength, 100));
  }
}
