import { isIdentifier } from "../names.js";
import { type FieldNode, referenceName, type TypeNode } from "../types/node.js";

/** How a `z.input` or `z.output` of an exported constant is written; the printer notes the imports it needs. */
export type SchemaTypeText = (helper: "input" | "output", root: string, access: string) => string;

/** Prints them as they are. */
export const plainSchemaText: SchemaTypeText = (helper, root, access) =>
  `z.${helper}<${schemaExpression(root, access)}>`;

/** `typeof` an exported constant, with what is added to it to reach a part. */
export function schemaExpression(root: string, access: string): string {
  return `(typeof ${root})${access}`;
}

/** `node` as TypeScript on one line. */
export function typeText(node: TypeNode, schemaText: SchemaTypeText = plainSchemaText): string {
  const of = (each: TypeNode): string => typeText(each, schemaText);
  switch (node.kind) {
    case "text":
      return node.text;
    case "schema":
      return schemaText(node.helper, node.root, node.access);
    case "reference":
      return referenceName(node.target, node.direction);
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
      return `${node.name}<${node.args.map(of).join(", ")}>`;
    case "union":
      return node.options.map((each) => (each.kind === "intersection" ? `(${of(each)})` : of(each))).join(" | ");
    case "intersection":
      return node.parts.map((each) => (each.kind === "union" ? `(${of(each)})` : of(each))).join(" & ");
    case "object": {
      const fields = node.fields.map((field) => fieldText(field, of(field.type)));
      const { index } = node;
      if (index === undefined) return `{ ${fields.join("; ")} }`;
      const others = `[key: string]: ${of(index)}`;
      return fitsIndex(node.fields, index)
        ? `{ ${[...fields, others].join("; ")} }`
        : `{ ${fields.join("; ")} } & { ${others} }`;
    }
  }
}

/** Whether fields beside an index signature are allowed in one object type. */
export function fitsIndex(fields: readonly FieldNode[], index: TypeNode): boolean {
  const text = typeText(index);
  if (text === "unknown" || text === "any") return true;
  return fields.every((field) => !field.optional && typeText(field.type) === text);
}

export function fieldText({ name, optional }: FieldNode, type: string): string {
  return `${isIdentifier(name) ? name : JSON.stringify(name)}${optional ? "?" : ""}: ${type}`;
}

function isCompound(node: TypeNode): boolean {
  return node.kind === "union" || node.kind === "intersection" || ("readonly" in node && node.readonly);
}
