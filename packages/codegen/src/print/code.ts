const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };

/** Matches brackets, and the first characters of literals and comments. */
const SPECIAL = /["'`/()[\]{}<>]/g;

/** Positions of an opening and its closing bracket, between which code may be broken into lines. */
export type Pair = readonly [open: number, close: number];

/** A piece of generated code on one line, with the positions of its brackets. */
export class CodeLine {
  readonly text: string;
  /** True for a type or the head of a function. In object types, fields are separated by semicolons. */
  readonly isType: boolean;
  /** Outermost pairs of brackets between which the code may be broken into lines. */
  readonly pairs: readonly Pair[];
  /** Bracket depth at each character; -1 in literals and comments. */
  readonly #depth: Int16Array;

  constructor(text: string, isType: boolean) {
    this.text = text;
    this.isType = isType;
    this.#depth = new Int16Array(text.length);
    const pairs: Pair[] = [];
    const open: number[] = [];
    let end = 0;
    for (const { index, 0: character } of text.matchAll(SPECIAL)) {
      if (index < end) continue;
      this.#depth.fill(open.length, end, index);
      end = index + 1;
      if (/["'`/]/.test(character)) {
        end = endOfLiteral(text, index);
        this.#depth.fill(-1, index, end);
        continue;
      }
      const last = open.at(-1) ?? -1;
      if (CLOSING[text.charAt(last)] === character && text.charAt(index - 1) !== "=") {
        open.pop();
        if (open.length === 0 && mayBreak(text, last, index)) pairs.push([last, index]);
      }
      this.#depth[index] = open.length;
      // A less-than sign, unlike a bracket, has a space before it.
      if (character in CLOSING && (character !== "<" || text.charAt(index - 1) !== " ")) open.push(index);
    }
    this.#depth.fill(open.length, end);
    this.pairs = pairs;
  }

  /** Splits the code at `separator`, except inside brackets and literals. */
  split(separator: string): string[] {
    const parts: string[] = [];
    let start = 0;
    for (let at = this.text.indexOf(separator); at >= 0; at = this.text.indexOf(separator, at + 1)) {
      if (this.#depth[at] !== 0) continue;
      parts.push(this.text.slice(start, at));
      start = at + separator.length;
    }
    return [...parts, this.text.slice(start)];
  }

  /** Returns a piece of this code as an object of its own, which is a type if this code is one. */
  part(text: string): CodeLine {
    return new CodeLine(text, this.isType);
  }
}

/**
 * Returns true if code may be broken into lines between two brackets. It may not for an index, or a single name in
 * parentheses.
 */
function mayBreak(text: string, open: number, close: number): boolean {
  const before = text.slice(0, open);
  const inner = text.slice(open + 1, close);
  switch (text.charAt(open)) {
    case "[":
      return inner !== "" && !/[\w)\]]$/.test(before);
    case "(":
      return inner !== "" && (/(?:[\w>]|^if )$/.test(before) || /^[[{]| \| /.test(inner));
    default:
      return inner !== "";
  }
}

/** Returns the position after the string, template, regular expression or comment that starts at `from`. */
function endOfLiteral(text: string, from: number): number {
  const quote = text.charAt(from);
  if (text.startsWith("/*", from)) return text.indexOf("*/", from) + 2;
  let inClass = false;
  for (let i = from + 1; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === "\\") i++;
    else if (quote === "`" && text.startsWith("${", i)) i = endOfSubstitution(text, i + 2) - 1;
    else if (quote === "/" && /[[\]]/.test(character)) inClass = character === "[";
    else if (character === quote && !inClass) return i + 1;
  }
  return text.length;
}

/**
 * Returns the position after a template substitution, which may contain literals and braces.
 *
 * @param from position after `${`
 */
function endOfSubstitution(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const character = text.charAt(i);
    if (/["'`]/.test(character)) i = endOfLiteral(text, i) - 1;
    else if (character === "{") depth++;
    else if (character === "}" && depth-- === 0) return i + 1;
  }
  return text.length;
}
