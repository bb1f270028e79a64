import { schemaText } from "@quicrpc/services";
import type { JsonNode } from "./json-tree.js";
import {
  choicesOf,
  isObject,
  keyOf,
  markOf,
  memberOf,
  membersOf,
  partsOf,
  resolved,
  type JsonSchema,
} from "@quicrpc/services/json-schema";

export type FieldKind =
  | "object"
  | "array"
  | "choice"
  | "enum"
  | "const"
  | "boolean"
  | "number"
  | "text"
  | "null"
  | "date"
  | "bigint"
  | "bytes"
  | "any";

/** A schema as a form uses it: references are resolved, and the parts of `allOf` are merged. */
export interface FormField {
  readonly kind: FieldKind;
  readonly schema: JsonSchema;
}

const ANY: FormField = { kind: "any", schema: {} };
const MARKS: Readonly<Record<string, FieldKind>> = {
  date: "date",
  bigint: "bigint",
  bytes: "bytes",
  map: "object",
  set: "array",
};
const TYPES: Readonly<Record<string, FieldKind>> = {
  object: "object",
  array: "array",
  boolean: "boolean",
  number: "number",
  integer: "number",
  string: "text",
  null: "null",
};

/** Maximum depth of nested `allOf` parts. It is limited, because a schema may contain itself. */
const MAX_PARTS = 3;

export function fieldOf(part: unknown, root: JsonSchema, depth = 0): FormField {
  const schema = resolved(part, root);
  if (schema === undefined || depth > MAX_PARTS) return ANY;
  // Literals of bigints are marked, too.
  if ("const" in schema) return { kind: "const", schema };
  if (Array.isArray(schema["enum"])) return { kind: "enum", schema };
  const mark = MARKS[markOf(schema) ?? ""];
  if (mark !== undefined) return { kind: mark, schema };
  if (choicesOf(schema) !== undefined) return { kind: "choice", schema };
  const parts = partsOf(schema).map((member) => fieldOf(member, root, depth + 1));
  if (parts.length > 0)
    return parts.every(({ kind }) => kind === "object") ? { kind: "object", schema: mergedOf(parts) } : ANY;
  const { type } = schema;
  return { kind: (typeof type === "string" ? TYPES[type] : undefined) ?? "any", schema };
}

function mergedOf(parts: readonly FormField[]): JsonSchema {
  const members = parts.flatMap(({ schema }) => {
    const { names, required } = membersOf(schema);
    return names.map((name) => ({ name, schema: memberOf(schema, name), isRequired: required.includes(name) }));
  });
  return {
    type: "object",
    properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
    required: members.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    additionalProperties: parts.find(({ schema }) => isObject(schema["additionalProperties"]))?.schema[
      "additionalProperties"
    ],
  };
}

/** Returns true if a field of this kind can edit the value. For example, a text field cannot edit a list. */
export function isEditable(kind: FieldKind, node: JsonNode): boolean {
  switch (kind) {
    case "object":
    case "array":
      return node.kind === kind;
    case "choice":
    case "any":
      return true;
    default:
      return node.kind === "scalar";
  }
}

/** Returns the members that an object's form always shows, and the schema of members that the user can add, if any. */
export function formMembersOf(schema: JsonSchema): {
  readonly names: readonly string[];
  readonly required: readonly string[];
  readonly others: unknown;
} {
  const { names, required } = membersOf(schema);
  const { additionalProperties } = schema;
  const others = markOf(schema) === "map" ? memberOf(schema, "") : additionalProperties;
  return { names: [...new Set([...names, ...required])], required, others: isObject(others) ? others : undefined };
}

/** Returns a name for a new member that no other member has. */
export function newName({ properties }: JsonNode, schema: JsonSchema, root: JsonSchema): string {
  const usedNames = new Set(properties.map(({ name }) => name));
  const key = resolved(keyOf(schema), root) ?? {};
  const isNumber = key["type"] === "number" || key["type"] === "integer";
  const listed = Array.isArray(key["enum"]) ? key["enum"].map(String) : [];
  for (const name of listed) if (!usedNames.has(name)) return name;
  for (let number = 1; ; number++) {
    const name = isNumber ? String(number) : `key${number}`;
    if (!usedNames.has(name)) return name;
  }
}

const MAX_LABEL = 40;

/** Returns names for the alternatives of a union, as short as possible but distinct. */
export function choiceLabels(choices: readonly unknown[], root: JsonSchema): readonly string[] {
  return choices.map((choice, index) => {
    const schema = resolved(choice, root) ?? {};
    const { title } = schema;
    const text = constantsOf(schema, root) ?? (typeof title === "string" ? title : schemaText(schema, root));
    const label = text.replace(/\s+/g, " ").trim();
    return label === "" ? `choice ${index + 1}` : label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL)}…` : label;
  });
}

/** Returns the members for which an alternative accepts only a single value. */
function constantsOf(schema: JsonSchema, root: JsonSchema): string | undefined {
  const constants = membersOf(schema).names.flatMap((name) => {
    const member = resolved(memberOf(schema, name), root);
    return member !== undefined && "const" in member ? [`${name}: ${JSON.stringify(member["const"])}`] : [];
  });
  return constants.length === 0 ? undefined : constants.join(", ");
}

/** Returns a short description of what a field accepts: its type and its bounds. */
export function fieldHintOf({ kind, schema }: FormField): string {
  const { type, format, minLength, maxLength, minItems, maxItems, multipleOf } = schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const bounds = (min: unknown, max: unknown, unit: string): string[] => {
    if (typeof min === "number" && typeof max === "number")
      return [min === max ? `${min}${unit}` : `${min} to ${max}${unit}`];
    if (typeof min === "number") return [`${min}${unit} or more`];
    return typeof max === "number" ? [`${max}${unit} at most`] : [];
  };
  switch (kind) {
    case "text":
      return [
        typeof format === "string" ? format : "text",
        ...bounds(minLength === 0 ? undefined : minLength, maxLength, " characters"),
      ].join(", ");
    case "number":
      return [
        type === "integer" ? "whole number" : "number",
        ...bounds(minimum, maximum, ""),
        ...(typeof exclusiveMinimum === "number" ? [`more than ${exclusiveMinimum}`] : []),
        ...(typeof exclusiveMaximum === "number" ? [`less than ${exclusiveMaximum}`] : []),
        ...(typeof multipleOf === "number" ? [`a multiple of ${multipleOf}`] : []),
      ].join(", ");
    case "array":
      return bounds(minItems === 0 ? undefined : minItems, maxItems, " items").join("");
    case "bigint":
      return "big integer";
    case "date":
      return "time";
    case "bytes":
      return "bytes";
    default:
      return "";
  }
}
