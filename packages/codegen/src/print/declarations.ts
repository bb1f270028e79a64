import { type Declaration, type ObjectField, fieldName, fitsIndex, type TypeNames } from "../types/node.js";
import { jsDoc, withLink } from "./writer.js";

/** Returns the declaration of a type: an interface for an object, a type alias for other types. */
export function printDeclaration({ name, docs: text, root, type }: Declaration, names: TypeNames): string {
  const docs = jsDoc(withLink(text, root && names.link?.(root)));
  if (type.object === undefined) return `${docs}export type ${name} = ${type.print(names)};\n`;
  const { fields, index } = type.object;
  const body = fields.map((field) => printField(field, names)).join("");
  if (index === undefined) return `${docs}export interface ${name} {\n${body}}\n`;
  const others = `[key: string]: ${index.print(names)}`;
  // The fields of an interface must match its index signature. If they do not, the type is an intersection.
  return fitsIndex(fields, index)
    ? `${docs}export interface ${name} {\n${body}  ${others};\n}\n`
    : `${docs}export type ${name} = {\n${body}} & { ${others} };\n`;
}

function printField(field: ObjectField, names: TypeNames): string {
  return `${jsDoc(field.docs, "  ")}  ${fieldName(field)}: ${field.type.print(names)};\n`;
}
