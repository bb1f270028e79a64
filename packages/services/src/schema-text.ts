import { sanitizeForLog } from "@quicrpc/core";
import {
  choicesOf,
  isObject,
  type JsonSchema,
  keyOf,
  markOf,
  memberOf,
  membersOf,
  partsOf,
  referred,
  referredName,
} from "./json-schema.js";

/** TypeScript names of types that JSON does not have, by the mark of `MethodTooling`. */
const OWN: Readonly<Record<string, string>> = { date: "Date", bigint: "bigint", bytes: "Uint8Array", blob: "Blob" };
const MAX_DEPTH = 12;
/**
 * Maximum number of characters of printed parts. Each part is counted again in every part that contains it, because
 * repeated references between definitions could be endless.
 */
const MAX_LENGTH = 1_000_000;

interface Scope {
  readonly root: JsonSchema;
  /** Number of characters that may still be printed. */
  remaining: number;
  /** Whether each definition is recursive, for the definitions that were already examined. */
  readonly recursive: Map<unknown, boolean>;
  /** Definitions that are currently being printed. */
  readonly open: Set<unknown>;
}

/**
 * Returns a JSON Schema as a TypeScript type. A type with named members takes several lines. Control characters are
 * escaped for terminals.
 */
export function schemaText(schema: JsonSchema, root: JsonSchema = schema, indent = ""): string {
  return partText(schema, { root, remaining: MAX_LENGTH, recursive: new Map(), open: new Set() }, indent, 0);
}

function partText(schema: JsonSchema, scope: Scope, indent: string, depth: number): string {
  if (depth > MAX_DEPTH || scope.remaining <= 0) return "…";
  const printed = textOf(schema, scope, indent, depth);
  scope.remaining -= printed.length;
  return printed;
}

function textOf(schema: JsonSchema, scope: Scope, indent: string, depth: number): string {
  const text = (inner: unknown, innerIndent = indent): string =>
    isObject(inner) ? partText(inner, scope, innerIndent, depth + 1) : "unknown";
  const { $ref, enum: values, type, items, prefixItems } = schema;
  if (typeof $ref === "string") return refText($ref, scope, text);
  const mark = markOf(schema) ?? "";
  if (Object.hasOwn(OWN, mark)) return OWN[mark] as string;
  if (mark === "set") return `Set<${text(items)}>`;
  if ("const" in schema) return sanitizeForLog(JSON.stringify(schema["const"]));
  if (Array.isArray(values)) return values.map((value) => sanitizeForLog(JSON.stringify(value))).join(" | ");
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.map((choice) => text(choice)).join(" | ");
  const parts = partsOf(schema);
  if (parts.length > 0) return parts.map((part) => text(part)).join(" & ");
  if (mark === "map") return `Map<${text(keyOf(schema))}, ${text(memberOf(schema, ""))}>`;
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((item) => text(item)).join(", ")}]`;
  if (type === "array") return `Array<${text(items)}>`;
  if (type === "object") {
    if (membersOf(schema).names.length > 0) return objectText(schema, indent, text);
    const { additionalProperties } = schema;
    return typeof additionalProperties === "object" ? `Record<string, ${text(additionalProperties)}>` : "{}";
  }
  return typeof type === "string" ? sanitizeForLog(type) : "unknown";
}

function objectText(schema: JsonSchema, indent: string, text: (inner: unknown, innerIndent: string) => string): string {
  const inner = `${indent}  `;
  const { names, required } = membersOf(schema);
  const lines = names.map((name) => {
    const member = memberOf(schema, name);
    const description = isObject(member) ? member["description"] : undefined;
    const note = typeof description === "string" ? ` // ${sanitizeForLog(description.split("\n")[0] ?? "")}` : "";
    return `${inner}${sanitizeForLog(name)}${required.includes(name) ? "" : "?"}: ${text(member, inner)};${note}\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** Matches names that zod gives to types without a name. */
const UNNAMED = /^__schema\d+$/;

/** Returns a referenced type as text: the whole type, or only its name if it is recursive and was already printed. */
function refText(reference: string, { root, recursive, open }: Scope, text: (inner: unknown) => string): string {
  const name = referredName(reference);
  const definition = name === undefined ? undefined : referred(reference, root);
  if (name === undefined || definition === undefined) return sanitizeForLog(reference);
  let isRecursive = recursive.get(definition);
  if (isRecursive === undefined) {
    isRecursive = JSON.stringify(definition).includes(JSON.stringify(reference));
    recursive.set(definition, isRecursive);
  }
  if (!isRecursive) return text(definition);
  if (!UNNAMED.test(name)) return sanitizeForLog(name);
  if (open.has(definition)) return "…";
  open.add(definition);
  const printed = text(definition);
  open.delete(definition);
  return printed;
}
