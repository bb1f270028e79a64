// Reads a regular expression without flags into steps that go through a text once, whatever the text is.

/** Positions in a text: those from each first to its last, in rising order, and no two ranges of them touch. */
type Positions = readonly Range[];
type Range = readonly [first: number, last: number];
type MutableRange = [first: number, last: number];

/** A text that is looked through, and how many more positions may be looked at. */
export interface Search {
  readonly text: string;
  /** Below zero nothing is found any more. */
  left: number;
}

/** A part of a pattern. */
export interface Step {
  /** Where matches of the part that begin at one of `from` end. */
  ends(search: Search, from: Positions): Positions;
  /** In how many ways a matcher that backtracks may try the part on a text of `length`, at most. */
  ways(length: number): number;
}

/** One character, which may be escaped, or a class. */
const UNIT = /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[^])|[^()|*+?]/iy;
/** Assertions and references that have no step. */
const FOREIGN = /\\[1-9bBk]|\\0\d/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(?:([:=!])|<\w+>))?(?!\?)/y;

/** A part that matches nowhere. */
const NOTHING: Step = { ends: () => [], ways: () => 1 };

/** The steps of a pattern; undefined where it has something that has none, such as a reference to a group. */
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
    ends: (search, from) => merged(all.flatMap((option) => option.ends(search, from))),
    ways: (length) => all.reduce((sum, option) => sum + option.ways(length), 0),
  };
}

function sequence(cursor: Cursor): Step {
  const all: Step[] = [];
  while (cursor.at < cursor.source.length && !"|)".includes(cursor.source[cursor.at] ?? "") && !cursor.isForeign) {
    all.push(quantified(cursor));
  }
  return {
    ends(search, from) {
      let at = from;
      for (const part of all) {
        if (at.length === 0) break;
        at = part.ends(search, at);
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
  return unit === undefined ? repeated(group as Step, ...bounds) : run(unit, ...bounds);
}

function assertion(cursor: Cursor): Step | undefined {
  const sign = cursor.source[cursor.at];
  if (sign !== "^" && sign !== "$") return undefined;
  cursor.at++;
  return {
    ends: ({ text }, from) => {
      const at = sign === "^" ? 0 : text.length;
      return from.some(([first, last]) => first <= at && at <= last) ? [[at, at]] : [];
    },
    ways: () => 1,
  };
}

function groupOf(cursor: Cursor): Step | undefined {
  if (cursor.source[cursor.at] !== "(") return undefined;
  const head = cursor.take(GROUP);
  cursor.isForeign ||= head === undefined;
  if (cursor.isForeign) return NOTHING;
  const inner = options(cursor);
  cursor.isForeign ||= cursor.source[cursor.at] !== ")";
  cursor.at++;
  const kind = head?.[1];
  if (kind !== "=" && kind !== "!") return inner;
  const isWanted = kind === "=";
  return {
    ends: (search, from) => {
      const fits = (at: number): boolean =>
        --search.left >= 0 && inner.ends(search, [[at, at]]).length > 0 === isWanted;
      return merged([...each(from)].filter(fits).map((at) => [at, at]));
    },
    ways: (length) => inner.ways(length),
  };
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
    ends(search, from) {
      const { text } = search;
      const found: MutableRange[] = [];
      // Characters from the last beginning to here are such.
      let end = 0;
      for (const [first, last] of from) {
        const limit = Math.min(text.length, last + most);
        for (let at = first; at <= last; at = end + 1) {
          if (search.left < 0) return [];
          const known = (end = Math.max(end, at));
          while (end < limit && is(text.charCodeAt(end))) end++;
          search.left -= end - known + 1;
          const until = Math.min(last + most, end);
          if (at + least <= until) append(found, at + least, until);
        }
      }
      return found;
    },
    ways: (length) => Math.max(1, Math.min(most, length) - least + 1),
  };
}

function repeated(part: Step, least: number, most: number): Step {
  return {
    ends(search, from) {
      let at = from;
      for (let i = 0; i < least && at.length > 0; i++) at = part.ends(search, at);
      if (most === least) return at;
      if (most === least + 1) return merged([...at, ...part.ends(search, at)]);
      const found = new Set(each(at));
      for (let i = least; i < most && at.length > 0; i++) {
        const further: number[] = [];
        for (const end of each(part.ends(search, at))) {
          if (--search.left < 0) return [];
          if (!found.has(end)) further.push(end);
        }
        for (const end of further) found.add(end);
        at = merged(further.map((end) => [end, end]));
      }
      return merged([...found].map((end) => [end, end]));
    },
    ways(length) {
      const once = part.ways(length);
      return most === Infinity ? Infinity : (once + (least === most ? 0 : 1)) ** most;
    },
  };
}

function* each(positions: Positions): Generator<number> {
  for (const [first, last] of positions) for (let at = first; at <= last; at++) yield at;
}

/** The positions in any of `ranges`. */
function merged(ranges: readonly Range[]): Positions {
  const all: MutableRange[] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) append(all, first, last);
  return all;
}

/** Adds a range that begins no earlier than those before it. */
function append(ranges: MutableRange[], first: number, last: number): void {
  const before = ranges.at(-1);
  if (before === undefined || first > before[1] + 1) ranges.push([first, last]);
  else before[1] = Math.max(before[1], last);
}
