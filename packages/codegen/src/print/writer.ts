import { commentLines } from "./text.js";
import { MAX_WIDTH, wrapLines } from "./wrap.js";

/** Returns `text` as a JSDoc comment followed by a line break; an empty string if there is no text. */
export function jsDoc(text: string | undefined, indent = ""): string {
  if (text === undefined || text.trim() === "") return "";
  const given = commentLines(text.trim());
  const [only = ""] = given;
  if (given.length === 1 && indent.length + only.length + 7 <= MAX_WIDTH) return `${indent}/** ${only} */\n`;
  const lines = given.flatMap((line) => (TAG.test(line) ? [line] : wrapped(line, MAX_WIDTH - indent.length - 3)));
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** Matches JSDoc tags whose text is not prose. */
const TAG = /^@(?:\w+\.)?(?:pattern|default) /;

/** Breaks prose into lines of at most `width` characters; a longer word has its own line. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const at = rest.slice(0, Math.max(0, space)).trim() === "" ? rest.indexOf(" ", width) : space;
    if (at < 0) break;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at + 1);
  }
  return [...lines, rest];
}

export function withLink(docs: string | undefined, link: string | undefined): string | undefined {
  if (link === undefined) return docs;
  const see = `@see {@link ${link}}`;
  return docs === undefined ? see : `${docs}\n\n${see}`;
}

/** Joins the non-empty parts of a file, separated by blank lines. */
export function joinParts(parts: readonly string[]): string {
  return wrapLines(parts.filter((part) => part !== "").join("\n"));
}
