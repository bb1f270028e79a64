import type { Declaration, FieldNode, TypeNode } from "../types/node.js";
import { fieldText, fitsIndex, type SchemaTypeText, typeText } from "./type-text.js";
import { jsDoc, MAX_WIDTH } from "./writer.js";

/** An interface where the type is an object, else a type alias. */
export function printDeclaration({ name, docs, type }: Declaration, schemaText: SchemaTypeText): string {
  if (type.kind !== "object") return `${jsDoc(docs)}export type ${name} =${aliasBody(name, type, schemaText)};\n`;
  const { fields, index } = type;
  const body = fields.map((field) => printField(field, schemaText)).join("");
  if (index === undefined) return `${jsDoc(docs)}export interface ${name} {\n${body}}\n`;
  const others = `[key: string]: ${typeText(index, schemaText)};`;
  // TypeScript wants the fields of an interface to fit its index signature; an intersection leaves them be.
  return fitsIndex(fields, index)
    ? `${jsDoc(docs)}export interface ${name} {\n${body}  ${others}\n}\n`
    : `${jsDoc(docs)}export type ${name} = {\n${body}} & { ${others.slice(0, -1)} };\n`;
}

function printField(field: FieldNode, schemaText: SchemaTypeText): string {
  return `${jsDoc(field.docs, "  ")}  ${fieldText(field, typeText(field.type, schemaText))};\n`;
}

function aliasBody(name: string, type: TypeNode, schemaText: SchemaTypeText): string {
  const line = typeText(type, schemaText);
  if (type.kind !== "union" || `export type ${name} = ${line};`.length <= MAX_WIDTH) return ` ${line}`;
  return type.options.map((option) => `\n  | ${typeText(option, schemaText)}`).join("");
}
