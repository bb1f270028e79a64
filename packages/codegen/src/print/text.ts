// Prints every text that comes from a schema, escaped so that it cannot leave its string, template literal or comment.
import { isIdentifier } from "../names.js";

/** Characters that end lines, are invisible, or change the direction of the following text. They are always escaped. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns `text` as a string literal, in the quotes that need fewer escapes. */
export function quoted(text: string): string {
  const double = escaped(JSON.stringify(text));
  const doubles = text.split('"').length;
  if (doubles === 1 || doubles <= text.split("'").length) return double;
  return `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Returns `text` for use in a template literal, next to any other text. */
export function templateText(text: string): string {
  return escaped(text.replace(/[`\\]|\$(?=\{|$)/g, "\\$&"));
}

/** Returns `text` for a single-line comment. */
export function lineComment(text: string): string {
  return escaped(text);
}

/** Returns the lines of `text` for a block comment. */
export function commentLines(text: string): string[] {
  return text
    .replaceAll("*/", "*\\/")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => escaped(line.replaceAll("\t", " ")));
}

/** Returns a key of an object literal or type, or a declared property name. */
export function keyText(key: string): string {
  // In a literal, this key alone would set the prototype.
  if (key === "__proto__") return '["__proto__"]';
  return isIdentifier(key) ? key : quoted(key);
}

/** Returns the expression for the property `name` of `object`. */
export function property(object: string, name: string): string {
  return isIdentifier(name) ? `${object}.${name}` : `${object}[${quoted(name)}]`;
}
