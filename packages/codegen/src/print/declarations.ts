import type { Declaration, FieldNode, TypeNode } from "../types/node.js";
import { group, hardLine, indent, type Layout, line, render } from "./layout.js";
import { annotated, fieldName, fitsIndex, typeLayout, type TypeNames } from "./type-text.js";
import { jsDoc, withLink } from "./writer.js";

/** An interface where the type is an object, else a type alias. */
export function printDeclaration({ name, docs: text, root, type }: Declaration, names: TypeNames): string {
  const docs = withLink(text, root && names.link?.(root));
  if (type.kind !== "object") {
    const head = `export type ${name} =`;
    const isName = type.kind === "reference";
    const alias = isName ? [head, group(indent(line, typeLayout(type, names)))] : annotated(head, type, names);
    return `${jsDoc(docs)}${render([alias, ";"])}\n`;
  }
  const { fields, index } = type;
  const body = fields.map((field) => printField(field, names)).join("");
  if (index === undefined) return `${jsDoc(docs)}export interface ${name} {\n${body}}\n`;
  // TypeScript wants the fields of an interface to fit its index signature; an intersection leaves them be.
  return fitsIndex(fields, index)
    ? `${jsDoc(docs)}export interface ${name} {\n${body}${printLine(annotated("[key: string]:", index, names))}}\n`
    : `${jsDoc(docs)}export type ${name} = {\n${body}} & ${indexType(index, names)};\n`;
}

function indexType(index: TypeNode, names: TypeNames): string {
  return render(["{ ", annotated("[key: string]:", index, names), " }"]);
}

function printField(field: FieldNode, names: TypeNames): string {
  return `${jsDoc(field.docs, "  ")}${printLine(annotated(`${fieldName(field)}:`, field.type, names))}`;
}

/** A member of a type, two spaces in. */
function printLine(member: Layout): string {
  return `${render(indent(hardLine, member, ";")).slice(1)}\n`;
}
