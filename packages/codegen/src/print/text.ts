// Everything in generated code that a schema named is printed here: no name leaves the string, template literal or comment that it is in.
import { isIdentifier } from "../names.js";

/** Characters that end lines, that cannot be seen, or that turn the direction of what stands behind them: never printed as they are. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `text` as a literal, in the quotes that need fewer escapes. */
export function quoted(text: string): string {
  const double = escaped(JSON.stringify(text));
  const doubles = text.split('"').length;
  if (doubles === 1 || doubles <= text.split("'").length) return double;
  return `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** `text` as what stands between the backticks of a template literal, next to whatever. */
export function templateText(text: string): string {
  return escaped(text.replace(/[`\\]|\$(?=\{|$)/g, "\\$&"));
}

/** `text` in a comment of one line. */
export function lineComment(text: string): string {
  return escaped(text);
}

/** The lines of `text` in a comment between delimiters. */
export function commentLines(text: string): string[] {
  return text
    .replaceAll("*/", "*\\/")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => escaped(line.replaceAll("\t", " ")));
}

/** A key of an object literal or type, or the name of a property that is declared. */
export function keyText(key: string): string {
  // In a literal this key alone would set the prototype.
  if (key === "__proto__") return '["__proto__"]';
  return isIdentifier(key) ? key : quoted(key);
}

/** The property `name` of `object`. */
export function property(object: string, name: string): string {
  return isIdentifier(name) ? `${object}.${name}` : `${object}[${quoted(name)}]`;
}
