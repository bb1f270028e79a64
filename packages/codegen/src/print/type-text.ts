import type { SchemaRoot } from "../source/schema-root.js";
import { type FieldNode, type NamedType, referenceName, type TypeNode } from "../types/node.js";
import type { Direction } from "../types/zod.js";
import { keyText } from "./text.js";

/** How types that stand elsewhere are written; the printer of a file notes the imports they need. */
export interface TypeNames {
  /** `z.input` or `z.output` of a part of an exported constant. */
  schema(helper: Direction, root: SchemaRoot, access: string): string;
  /** The mark of a brand with such names. */
  brand(names: string): string;
  /** A link of a comment to an export of a schema module; undefined where there are no such links. */
  link?(root: SchemaRoot): string | undefined;
  /** A declared type. */
  named(target: NamedType, direction: Direction): string;
  /** A name of `@quicrpc/core/generated`, or of a type that every program has. */
  core(name: string): string;
  /** The type of anything, where its keyword would trip linters. */
  readonly any?: string | undefined;
}

/** Types as they are called where they are declared. */
export const plainNames: TypeNames = {
  schema: (helper, { name }, access) => `z.${helper}<${schemaExpression(name, access)}>`,
  brand: (names) => `z.$brand<${names}>`,
  named: referenceName,
  core: (name) => name,
};

/** `typeof` an exported constant, with what is added to it to reach a part. */
export function schemaExpression(root: string, access: string): string {
  return `(typeof ${root})${access}`;
}

/** `node` as TypeScript on one line. */
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

/** The text before the type of the properties of a mapped type. */
function mappedKey({ key, optional }: TypeNode & { kind: "mapped" }, names: TypeNames): string {
  return `[K in ${typeText(key, names)}]${optional ? "?" : ""}:`;
}

/** Whether fields beside an index signature are allowed in one object type. */
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
