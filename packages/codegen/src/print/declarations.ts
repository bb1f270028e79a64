import type { Declaration, FieldNode } from "../types/node.js";
import { fieldName, fitsIndex, type TypeNames, typeText } from "./type-text.js";
import { jsDoc, withLink } from "./writer.js";

/** Prints an interface if the type is an object, otherwise a type alias. */
export function printDeclaration({ name, docs: text, root, type }: Declaration, names: TypeNames): string {
  const docs = jsDoc(withLink(text, root && names.link?.(root)));
  if (type.kind !== "object") return `${docs}export type ${name} = ${typeText(type, names)};\n`;
  const { fields, index } = type;
  const body = fields.map((field) => printField(field, names)).join("");
  if (index === undefined) return `${docs}export interface ${name} {\n${body}}\n`;
  const others = `[key: string]: ${typeText(index, names)}`;
  // In an interface, fields must match the index signature; in an intersection they need not.
  return fitsIndex(fields, index)
    ? `${docs}export interface ${name} {\n${body}  ${others};\n}\n`
    : `${docs}export type ${name} = {\n${body}} & { ${others} };\n`;
}

function printField(field: FieldNode, names: TypeNames): string {
  return `${jsDoc(field.docs, "  ")}  ${fieldName(field)}: ${typeText(field.type, names)};\n`;
}
