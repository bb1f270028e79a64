import type { SchemaRoot } from "../source/schema-root.js";
import { type FieldNode, type NamedType, referenceName, type TypeNode } from "../types/node.js";
import type { Direction } from "../types/zod.js";
import { keyText } from "./text.js";

/** How types declared elsewhere are written. A file's printer records the imports that they need. */
export interface TypeNames {
  /** Returns `z.input` or `z.output` of a part of an exported constant. */
  schema(helper: Direction, root: SchemaRoot, access: string): string;
  /** Returns the type of a brand with these names. */
  brand(names: string): string;
  /** Returns the link to an export of a schema module, for a comment; undefined if comments have no links. */
  link?(root: SchemaRoot): string | undefined;
  /** Returns the name of a declared type. */
  named(target: NamedType, direction: Direction): string;
  /** Returns a name of `@quicrpc/core/generated`, or of a global type. */
  core(name: string): string;
  /** Replacement for the keyword `any`, which linters may report. */
  readonly any?: string | undefined;
}

/** Writes types by their declared names. */
export const plainNames: TypeNames = {
  schema: (helper, { name }, access) => `z.${helper}<${schemaExpression(name, access)}>`,
  brand: (names) => `z.$brand<${names}>`,
  named: referenceName,
  core: (name) => name,
};

/** Returns `typeof` an exported constant, followed by the access to one of its parts. */
export function schemaExpression(root: string, access: string): string {
  return `(typeof ${root})${access}`;
}

/** Prints `node` as TypeScript on one line. */
export function typeText(node: TypeNode, names: TypeNames = plainNames): string {
  const of = (each: TypeNode): string => typeText(each, names);
  switch (node.kind) {
    case "text":
      return node.text === "any" ? (names.any ?? "any") : node.text;
    case "schema":
      return names.schema(node.helper, node.root, node.access);
    case "brand":
      return names.brand(node.names);
    case "reference":
      return names.named(node.target, node.direction);
    case "array": {
      const element = of(node.element);
      const text = isCompound(node.element) ? `(${element})[]` : `${element}[]`;
      return node.readonly ? `readonly ${text}` : text;
    }
    case "tuple": {
      const items = node.items.map(({ type, optional }) => {
        if (!optional) return of(type);
        return isCompound(type) ? `(${of(type)})?` : `${of(type)}?`;
      });
      if (node.rest !== undefined) items.push(`...${isCompound(node.rest) ? `(${of(node.rest)})` : of(node.rest)}[]`);
      return `${node.readonly ? "readonly " : ""}[${items.join(", ")}]`;
    }
    case "generic":
      if (node.args.length === 0) return names.core(node.name);
      return `${names.core(node.name)}<${node.args.map(of).join(", ")}>`;
    case "union":
      return node.options.map((each) => (each.kind === "intersection" ? `(${of(each)})` : of(each))).join(" | ");
    case "intersection":
      return node.parts.map((each) => (each.kind === "union" ? `(${of(each)})` : of(each))).join(" & ");
    case "mapped":
      return `{ ${mappedKey(node, names)} ${of(node.value)} }`;
    case "object": {
      const fields = node.fields.map((field) => `${fieldName(field)}: ${of(field.type)}`);
      const { index } = node;
      if (index === undefined) return `{ ${fields.join("; ")} }`;
      const others = `[key: string]: ${of(index)}`;
      return fitsIndex(node.fields, index)
        ? `{ ${[...fields, others].join("; ")} }`
        : `{ ${fields.join("; ")} } & { ${others} }`;
    }
  }
}

/** Returns the text before the value type of a mapped type. */
function mappedKey({ key, optional }: TypeNode & { kind: "mapped" }, names: TypeNames): string {
  return `[K in ${typeText(key, names)}]${optional ? "?" : ""}:`;
}

/** Returns true if an object type may have both these fields and the index signature. */
export function fitsIndex(fields: readonly FieldNode[], index: TypeNode): boolean {
  const text = typeText(index);
  if (text === "unknown" || text === "any") return true;
  return fields.every((field) => !field.optional && typeText(field.type) === text);
}

export function fieldName({ name, optional }: FieldNode): string {
  return `${keyText(name)}${optional ? "?" : ""}`;
}

function isCompound(node: TypeNode): boolean {
  return node.kind === "union" || node.kind === "intersection" || ("readonly" in node && node.readonly);
}
