import { printable } from "@quicrpc/core";
import type { JsonSchema } from "./json-values.js";

/** Types that JSON has not, by what `MethodTooling` marks them with. */
const OWN: Readonly<Record<string, string>> = { date: "Date", bigint: "bigint", bytes: "Uint8Array", blob: "Blob" };
const MAX_DEPTH = 12;

/** Says a JSON Schema, as reflection has them, in the words of TypeScript; several lines where it has named members. */
export function schemaText(schema: JsonSchema, root: JsonSchema = schema, indent = "", depth = 0): string {
  if (depth > MAX_DEPTH) return "…";
  const text = (inner: unknown, by = indent): string =>
    typeof inner === "object" && inner !== null ? schemaText(inner as JsonSchema, root, by, depth + 1) : "unknown";
  const {
    $ref,
    anyOf,
    oneOf,
    allOf,
    enum: values,
    type,
    items,
    prefixItems,
    properties,
    additionalProperties,
  } = schema;
  if (typeof $ref === "string") return refText($ref, root, text);
  const mark = schema["x-quicrpc-type"];
  if (typeof mark === "string" && mark in OWN) return OWN[mark] as string;
  if (mark === "set") return `Set<${text(items)}>`;
  if ("const" in schema) return printable(JSON.stringify(schema["const"]));
  if (Array.isArray(values)) return values.map((value) => printable(JSON.stringify(value))).join(" | ");
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) return choices.map((each) => text(each)).join(" | ");
  if (Array.isArray(allOf)) return allOf.map((each) => text(each)).join(" & ");
  if (mark === "map") {
    const [key, value] = ((items as JsonSchema | undefined)?.["prefixItems"] ?? []) as readonly unknown[];
    return `Map<${text(key)}, ${text(value)}>`;
  }
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((each) => text(each)).join(", ")}]`;
  if (type === "array") return `Array<${text(items)}>`;
  if (type === "object") {
    if (typeof properties !== "object" || properties === null || Object.keys(properties).length === 0) {
      return typeof additionalProperties === "object" ? `Record<string, ${text(additionalProperties)}>` : "{}";
    }
    return objectText(schema, indent, text);
  }
  if (Array.isArray(type)) return type.map((each) => text({ ...schema, type: each as unknown })).join(" | ");
  return typeof type === "string" ? type : "unknown";
}

function objectText(
  { properties, required }: JsonSchema,
  indent: string,
  text: (inner: unknown, by: string) => string,
): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, schema]) => {
    const optional = Array.isArray(required) && required.includes(name) ? "" : "?";
    const { description } = schema;
    const note = typeof description === "string" ? ` // ${printable(description.split("\n")[0] ?? "")}` : "";
    return `${inner}${printable(name)}${optional}: ${text(schema, inner)};${note}\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** A type that refers to itself is written by its name, others in full. */
function refText(reference: string, { $defs }: JsonSchema, text: (inner: unknown) => string): string {
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
  const definition = name === undefined ? undefined : (($defs ?? {}) as Readonly<Record<string, unknown>>)[name];
  if (name === undefined || definition === undefined) return printable(reference);
  return JSON.stringify(definition).includes(`"${reference}"`) ? printable(name) : text(definition);
}
