import { camelCase, type NameScope, pascalCase, singular } from "../names.js";
import { ownStructure, partsOf, type Place, type SchemaNode } from "../schema/node.js";
import { nodeOf } from "../schema/read.js";
import type { GraphEntry } from "./graph.js";
import type { NamedType } from "./node.js";
import { type AnySchema, canonical, isZodSchema, metaOf, type SchemaMeta, typeNameOf } from "./zod.js";

/** Kinds of schemas whose types get a name if the author has named the schema, or it is used repeatedly. */
const NAMEABLE: ReadonlySet<string> = new Set("union intersection tuple enum record array map set".split(" "));
/** Kinds of schemas whose types also get a name if a whole message has this kind. */
const NAMED_AS_PAYLOAD: ReadonlySet<string> = new Set(["union", "intersection", "tuple"]);
const MAX_INLINE_ENUM = 4;

/** Assigns names to the types of schemas, and returns them by schema. */
export function nameTypes(
  entries: ReadonlyMap<AnySchema, GraphEntry>,
  constants: ReadonlyMap<unknown, string>,
  constantDocs: ReadonlyMap<unknown, string>,
  scope: NameScope,
  isShared: boolean,
): Map<AnySchema, NamedType> {
  const given = givenNames(entries, constants);
  const named = new Map<AnySchema, NamedType>();
  const comments = new Map<AnySchema, string>();
  for (const [schema, docs] of constantDocs) if (isZodSchema(schema)) comments.set(canonical(schema), docs);
  for (const entry of entries.values()) {
    const name = given.get(entry.schema);
    if (!needsName(entry, name)) continue;
    const wanted = name ?? labelName(entry.label);
    named.set(entry.schema, {
      name: scope.take(wanted, ["Parsed"]),
      docs: documentation(metaOf(entry.met)) ?? documentation(metaOf(entry.schema)) ?? comments.get(entry.schema),
      isShared,
      isGiven: name !== undefined,
      differs: false,
    });
  }
  for (const type of named.values()) scope.reserve(`${type.name}Parsed`);
  return named;
}

/** Returns the comment for a schema from its metadata: the description, and a tag if it is deprecated. */
export function documentation({ description, deprecated }: SchemaMeta): string | undefined {
  const lines = [
    ...(typeof description === "string" && description !== "" ? [description] : []),
    ...(deprecated === true ? ["@deprecated"] : []),
  ];
  return lines.length === 0 ? undefined : lines.join("\n\n");
}

function needsName(entry: GraphEntry, given: string | undefined): boolean {
  const node = ownStructure(nodeOf(entry.schema));
  if (entry.recursive) return true;
  if (node.kind === "object") return Object.keys(node.fields).length > 0;
  if (!NAMEABLE.has(node.type)) return false;
  if (node.type === "union" && given === undefined && partsOf(node).every(isScalar)) return false;
  if (given !== undefined) return true;
  if (node.kind === "literal") return entry.uses > 1 || Object.keys(node.entries ?? {}).length > MAX_INLINE_ENUM;
  return NAMED_AS_PAYLOAD.has(node.type) && (entry.isRoot || entry.uses > 1);
}

/**
 * Returns the names that the author has given to schemas: by `.meta({ id })`, otherwise by a constant, otherwise by
 * `.meta({ title })`.
 */
function givenNames(
  entries: ReadonlyMap<AnySchema, GraphEntry>,
  constants: ReadonlyMap<unknown, string>,
): Map<AnySchema, string> {
  const names = new Map<AnySchema, string>();
  const offer = (schema: AnySchema, name: unknown): void => {
    const type = typeNameOf(name);
    if (type !== undefined && !names.has(schema)) names.set(schema, type);
  };
  const known = (schema: unknown): schema is AnySchema => isZodSchema(schema) && entries.has(canonical(schema));
  for (const { schema, met } of entries.values()) {
    offer(schema, metaOf(met).id ?? metaOf(schema).id);
  }
  for (const [schema, name] of constants) if (known(schema)) offer(canonical(schema), name);
  for (const { schema, met } of entries.values()) {
    const title = metaOf(met).title ?? metaOf(schema).title;
    if (typeof title === "string" && /^[\w -]+$/.test(title)) offer(schema, title);
  }
  return names;
}

/** Word in a label that stands for a single element of the collection named before it. */
const ONE = "[]";

/** Words for positions in a schema that have neither a name nor a number. */
const LABELS: Readonly<Record<string, string>> = {
  others: "Value",
  rest: "Rest",
  key: "Key",
  left: "Left",
  right: "Right",
};

/** Returns the words that a position in `node` adds to a name; none if there is only one position. */
export function labelOf({ slot, at }: Place, node: SchemaNode): string[] {
  if (slot === "element") return [node.kind === "array" || node.kind === "set" ? ONE : "Value"];
  if (slot === "fields") return [pascalCase(String(at))];
  const number = Number(at) + 1;
  if (slot === "items") return [String(number)];
  if (slot === "options" || slot === "parts") return [`${pascalCase(slot.slice(0, -1))}${number}`];
  const label = LABELS[slot];
  return label === undefined ? [] : [label];
}

export function labelName(label: readonly string[]): string {
  const words: string[] = [];
  for (const part of label) {
    if (part !== ONE) words.push(pascalCase(part));
    else words.push(pascalCase(singular(camelCase(words.pop() ?? "item"))));
  }
  return words.join("");
}

function isScalar(node: SchemaNode): boolean {
  return partsOf(ownStructure(node)).length === 0;
}

export function exportedSchemas(exports: Readonly<Record<string, unknown>>): Map<unknown, string> {
  const names = new Map<unknown, string>();
  for (const [name, value] of Object.entries(exports)) {
    if (isZodSchema(value) && name !== "default" && !names.has(value)) names.set(value, name);
  }
  return names;
}
