// Escapes every text that comes from a schema, so that it cannot end the string, template literal or comment that
// contains it.
import { isIdentifier } from "../names.js";

/**
 * Matches characters that end lines, are invisible, or change the direction of the text after them. They are always
 * escaped.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns `text` as a string literal, with the kind of quotes that needs fewer escapes. */
export function quoted(text: string): string {
  const double = escaped(JSON.stringify(text));
  const doubles = text.split('"').length;
  if (doubles === 1 || doubles <= text.split("'").length) return double;
  return `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

export function templateText(text: string): string {
  return escaped(text.replace(/[`\\]|\$(?=\{|$)/g, "\\$&"));
}

export function lineComment(text: string): string {
  return escaped(text);
}

export function commentLines(text: string): string[] {
  return text
    .replaceAll("*/", "*\\/")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => escaped(line.replaceAll("\t", " ")));
}

export function keyText(key: string): string {
  // In an object literal, a plain `__proto__` key would set the prototype.
  if (key === "__proto__") return '["__proto__"]';
  return isIdentifier(key) ? key : quoted(key);
}

export function property(object: string, name: string): string {
  return isIdentifier(name) ? `${object}.${name}` : `${object}[${quoted(name)}]`;
}
