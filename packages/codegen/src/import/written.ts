import { createHash } from "node:crypto";
import { isIdentifier } from "../names.js";
import { lineComment } from "../print/text.js";
import { type SourceNode, ts } from "../source/compiler.js";

const HEADER = /^\ufeff?\/\/ Written by quicrpc import from .* \((\w+)\)\r?\n.*\r?\n/;

/** Returns a module with the comment by which `isEdited` recognizes it. */
export function withHeader(name: string, text: string): string {
  return (
    `// Written by quicrpc import from ${lineComment(name)}. (${hashOf(text)})\n` +
    `// quicrpc import replaces this file, unless it was edited.\n${text}`
  );
}

/** Returns true if `quicrpc import` did not write a module, or if it was changed afterwards, except by a formatter. */
export function isEdited(text: string): boolean {
  const [head, hash] = HEADER.exec(text) ?? [];
  return head === undefined || hashOf(text.slice(head.length)) !== hash;
}

/** Returns true if two modules differ only in their formatting. */
export function isSameModule(left: string, right: string): boolean {
  return left === right || contentOf(left) === contentOf(right);
}

function hashOf(text: string): string {
  return createHash("sha256").update(contentOf(text)).digest("hex").slice(0, 12);
}

/** Returns the tokens and comments of a module, without the parts that formatters add, remove or change. */
function contentOf(text: string): string {
  const source = ts.createSourceFile("a.ts", text.replace(/^\ufeff/, ""), ts.ScriptTarget.Latest, true);
  const tokens: { readonly text: string; readonly comment: string }[] = [];
  const add = (node: SourceNode): void => {
    const children = node.getChildren(source).filter((each) => !ts.isJSDoc(each));
    if (children.length > 0) return children.forEach(add);
    if (node.getWidth(source) === 0 && node.kind !== ts.SyntaxKind.EndOfFileToken) return;
    const comment = source.text.slice(node.getFullStart(), node.getStart(source)).replaceAll(/[\s*]+/g, " ");
    tokens.push({ text: tokenText(node, source), comment: comment.trim() });
  };
  add(source);
  const kept = tokens.map(({ text, comment }, i) => {
    const next = tokens[i + 1]?.text ?? "";
    const isLoneParameter = (start: number): boolean =>
      tokens[start]?.text === "(" && tokens[start + 2]?.text === ")" && tokens[start + 3]?.text === "=>";
    const isOptional =
      text === ";" ||
      (text === "," && /^[)\]}]$/.test(next)) ||
      (text === "(" && isLoneParameter(i)) ||
      (text === ")" && isLoneParameter(i - 2));
    return [comment, isOptional ? "" : text];
  });
  return JSON.stringify(kept.flat().filter((each) => each !== ""));
}

/** Returns the text of a token: the value of a string, with quotes only if a formatter keeps them. */
function tokenText(node: SourceNode, source: SourceNode): string {
  if (!ts.isStringLiteral(node)) return node.getText(source as Parameters<SourceNode["getText"]>[0]);
  const isKey = ts.isPropertyAssignment(node.parent) && node.parent.name === node && isIdentifier(node.text);
  return isKey ? node.text : JSON.stringify(node.text);
}
