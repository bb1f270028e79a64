import { canonicalNode, fieldsOf, type SchemaNode } from "../schema/node.js";
import { UnmappableError, valueOf } from "./value.js";

export interface FieldSource {
  readonly key: string;
  readonly object: SchemaNode;
  readonly field: SchemaNode;
}

/** Returns the fields of an object schema, or of all objects in an intersection. */
export function fieldsOfObject(node: SchemaNode): FieldSource[] {
  if (node.kind === "intersection") {
    const sides = [node.left, node.right].map((side) => fieldsOfObject(valueOf(side).node));
    const all = new Map<string, FieldSource>();
    for (const each of sides.flat()) {
      const other = all.get(each.key);
      if (other !== undefined && canonicalNode(other.field) !== canonicalNode(each.field)) {
        throw new UnmappableError(node, `an intersection with two fields ${each.key}`, "Use .extend().");
      }
      all.set(each.key, each);
    }
    return [...all.values()];
  }
  if (node.kind !== "object") {
    throw new UnmappableError(node, "an intersection of other types than objects", "Use one object.");
  }
  if (typeof node.others !== "string") {
    throw new UnmappableError(node, "an object with undeclared keys", "Declare the fields, or add a z.record.");
  }
  if (Object.hasOwn(node.fields, "__proto__")) {
    throw new UnmappableError(node, "a field named __proto__", "Give it another name.");
  }
  return fieldsOf(node).map(({ name, node: field }) => ({ key: name, object: node, field }));
}

export function isStrict(node: SchemaNode): boolean {
  if (node.kind === "intersection") return [node.left, node.right].every((side) => isStrict(valueOf(side).node));
  return node.kind === "object" && node.others === "strict";
}

export function isObject({ kind }: SchemaNode): boolean {
  return kind === "object" || kind === "intersection";
}

/** Returns the text of the discriminator for an option of a union; undefined if it has none. */
export function discriminatorText(union: SchemaNode, option: SchemaNode): string | undefined {
  if (union.kind !== "union" || union.discriminator === undefined || option.kind !== "object") return undefined;
  const tag = option.fields[union.discriminator];
  const [text] = (tag && valueOf(tag).values) ?? [];
  return typeof text === "string" ? text : undefined;
}
