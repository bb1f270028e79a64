// Reads a regular expression without flags into steps that go through a text once, whatever the text is.
import { Positions } from "./positions.js";

/** A part of a pattern. */
export interface Step {
  /** Where matches of the part that begin at one of `from` end. */
  ends(text: string, from: Positions): Positions;
  /** In how many ways a matcher that backtracks may try the part on a text of `length`, at most. */
  ways(length: number): number;
}

/** One character, which may be escaped, or a class. */
const UNIT = /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[^])|[^()|*+?]/iy;
/** Assertions and references that have no step. */
const FOREIGN = /\\[1-9bBk]|\\0\d/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?::|<\w+>))?(?!\?)/y;

const NONE = new Positions(0, 0);
/** A part that matches nowhere. */
const NOTHING: Step = { ends: () => NONE, ways: () => 1 };

/** The steps of a pattern; undefined where it has something that has none: a reference to a group, a look around, a group that is repeated. */
export function stepsOf(source: string): Step | undefined {
  const cursor = new Cursor(source);
  const step = options(cursor);
  return cursor.isForeign || cursor.at < source.length ? undefined : step;
}

class Cursor {
  at = 0;
  isForeign = false;
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  /** Returns the match of `pattern` here, which is passed then. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found === null) return undefined;
    this.at = pattern.lastIndex;
    return found;
  }
}

function options(cursor: Cursor): Step {
  const all = [sequence(cursor)];
  while (cursor.source[cursor.at] === "|") {
    cursor.at++;
    all.push(sequence(cursor));
  }
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  return {
    ends: (text, from) => all.reduce((found, option) => Positions.ofBoth(found, option.ends(text, from)), NONE),
    ways: (length) => all.reduce((sum, option) => sum + option.ways(length), 0),
  };
}

function sequence(cursor: Cursor): Step {
  const all: Step[] = [];
  while (cursor.at < cursor.source.length && !"|)".includes(cursor.source[cursor.at] ?? "") && !cursor.isForeign) {
    all.push(quantified(cursor));
  }
  return {
    ends(text, from) {
      let at = from;
      for (const part of all) {
        if (at.isEmpty) break;
        at = part.ends(text, at);
      }
      return at;
    },
    ways: (length) => all.reduce((product, part) => product * part.ways(length), 1),
  };
}

/** An atom, as often as is said after it. */
function quantified(cursor: Cursor): Step {
  const group = assertion(cursor) ?? groupOf(cursor);
  const unit = group === undefined ? unitOf(cursor) : undefined;
  const [, sign, least = "", comma, most = ""] = cursor.take(QUANTIFIER) ?? [];
  let bounds: [number, number] = [1, 1];
  if (sign !== undefined) bounds = [sign === "+" ? 1 : 0, sign === "?" ? 1 : Infinity];
  else if (least !== "") bounds = [Number(least), comma === "" ? Number(least) : Number(most || Infinity)];
  if (unit !== undefined) return run(unit, ...bounds);
  cursor.isForeign ||= bounds[1] !== 1;
  return bounds[0] === 0 ? optional(group as Step) : (group as Step);
}

function assertion(cursor: Cursor): Step | undefined {
  const sign = cursor.source[cursor.at];
  if (sign !== "^" && sign !== "$") return undefined;
  cursor.at++;
  return {
    ends(text, from) {
      const at = sign === "^" ? 0 : text.length;
      return from.has(at) ? Positions.between(at, at) : NONE;
    },
    ways: () => 1,
  };
}

function groupOf(cursor: Cursor): Step | undefined {
  if (cursor.source[cursor.at] !== "(") return undefined;
  cursor.isForeign ||= cursor.take(GROUP) === undefined;
  if (cursor.isForeign) return NOTHING;
  const inner = options(cursor);
  cursor.isForeign ||= cursor.source[cursor.at] !== ")";
  cursor.at++;
  return inner;
}

/** Whether a code unit is the one that is written here, or in the class. */
function unitOf(cursor: Cursor): (code: number) => boolean {
  cursor.isForeign ||= cursor.take(FOREIGN) !== undefined;
  const [source] = cursor.take(UNIT) ?? [];
  cursor.isForeign ||= source === undefined;
  const unit = cursor.isForeign ? undefined : new RegExp(`^${source}$`);
  let known: Uint8Array | undefined;
  return (code) => {
    known ??= new Uint8Array(0x10000);
    const answer = known[code] || (known[code] = unit?.test(String.fromCharCode(code)) === true ? 1 : 2);
    return answer === 1;
  };
}

/** From `least` to `most` characters for which `is` holds. */
function run(is: (code: number) => boolean, least: number, most: number): Step {
  return {
    ends(text, from) {
      const first = from.next(0) + least;
      if (first > text.length) return NONE;
      const found = new Positions(first, Math.min(text.length, from.last + most));
      // Characters from the last beginning to here are such.
      let end = 0;
      for (let begin = from.next(0); begin >= 0; ) {
        const last = from.after(begin) - 1;
        const limit = Math.min(text.length, last + most);
        for (let at = begin; at <= last; at = end + 1) {
          end = Math.max(end, at);
          while (end < limit && is(text.charCodeAt(end))) end++;
          const until = Math.min(last + most, end);
          if (at + least <= until) found.add(at + least, until);
        }
        begin = from.next(last + 1);
      }
      return found;
    },
    ways: (length) => Math.max(1, Math.min(most, length) - least + 1),
  };
}

function optional(part: Step): Step {
  return {
    ends: (text, from) => Positions.ofBoth(from, part.ends(text, from)),
    ways: (length) => 1 + part.ways(length),
  };
}
