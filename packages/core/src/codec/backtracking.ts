// Estimates how much a regular expression can backtrack. If a text can be divided between two repetitions in several
// ways, as with `^.*-.*!$`, the platform's matcher tries all of them. That takes time proportional to the square of the
// text's length, and more with each further repetition.

/**
 * Length in characters of the longest text whose matching time is estimated. A pattern that matches such a text fast
 * enough has no length limit.
 */
const LONG = 2 ** 20;
/** Maximum steps of the platform's regular expression matcher for one text: they take about a second. */
const MAX_STEPS = 2e8;
/**
 * Maximum characters of a text if the pattern can backtrack exponentially: each character may double the number of
 * steps.
 */
const FEW = 16;
/**
 * Characters that are tried, in this order, to build a text that a pattern matches. The pattern's own characters are
 * added.
 */
const CHARS = `a0-A :.@/_${String.fromCharCode(...Array(128).keys())}é漢\u2028`;

/** Matches one element of a pattern: a character, which may be escaped, or a character class. */
const UNIT = /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[^])|[^()|*+?]/iy;
const ASSERTION = /[\^$]|\\b/iy;
const REFERENCE = /\\(?:[1-9]|k<\w+>)/y;
const GROUP = /\((?:\?(?::|<\w+>|(<?[=!])))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;

/** An estimate of how much a regular expression can backtrack. */
export interface Backtracking {
  /**
   * Length of the longest text that should be matched; `Infinity` if the matching time is linear in the text's length.
   */
  readonly longest: number;
  /**
   * JavaScript expression for a text that takes long to match, in which `n` is a large number; empty if there is no
   * such text.
   */
  readonly attack: string;
}

/** A parsed part of a regular expression, such as a character class, a group or a sequence. */
interface Part {
  readonly source: string;
  /** Returns a short text that the part matches, using only characters in `chars`; undefined if there is none. */
  readonly word: (chars: readonly string[]) => string | undefined;
  readonly chars: readonly string[];
  readonly loops: readonly Loop[];
  /** True for a repetition of any character. */
  readonly isAnything?: boolean;
  /** True if two alternatives in the part can match the same text. */
  readonly isAmbiguous?: boolean;
}

interface Loop {
  readonly repeat: Repeat;
  readonly before: readonly Part[];
  readonly after: readonly Part[];
}

interface Repeat {
  readonly body: Part;
  /** Number of different lengths that the repetition can match. */
  readonly ways: number;
  /** Earlier repetitions that can share a text with this one, each with the text whose repetition both can match. */
  readonly from: Map<Repeat, string>;
}

/** A sequence of repetitions. A text can be divided in several ways between each repetition and the next. */
interface Chain {
  readonly repeats: readonly Repeat[];
  readonly steps: number;
}

const known = new WeakMap<RegExp, Backtracking>();

/**
 * Estimates how long a regular expression may take to match, ignoring its flags. The estimate may be too high for
 * repeated groups that contain alternatives or repetitions.
 */
export function backtrackingOf(pattern: RegExp): Backtracking {
  const found = known.get(pattern) ?? new Parser(pattern.source).backtracking();
  known.set(pattern, found);
  return found;
}

class Parser {
  readonly #source: string;
  readonly #chars: readonly string[];
  #at = 0;
  /** A text whose repetition makes the matcher take exponential time; undefined if the parser has found none. */
  #exponential: string | undefined;

  constructor(source: string) {
    this.#source = source;
    // If two classes overlap, one of them contains an end of a range of the other.
    const escaped = [...source.matchAll(/\\u([\da-f]{4})|\\x([\da-f]{2})/gi)].map(
      ([, long, short = ""]) => long ?? short,
    );
    const decoded = escaped.map((digits) => String.fromCharCode(Number.parseInt(digits, 16)));
    this.#chars = [...new Set(`${CHARS}${source}${decoded.join("")}`.split(""))];
  }

  backtracking(): Backtracking {
    const { loops } = this.#options(true);
    if (this.#exponential !== undefined) return { longest: FEW, attack: repeated(this.#exponential) };
    let longest = LONG;
    while (worstChain(loops, longest).steps > MAX_STEPS) longest /= 2;
    if (longest === LONG) return { longest: Infinity, attack: "" };
    const { repeats } = worstChain(loops, LONG);
    const start = wordOf(loops.find(({ repeat }) => repeat === repeats[0])?.before ?? [], this.#chars);
    const words = repeats.flatMap((repeat, i) => repeats[i + 1]?.from.get(repeat) ?? []);
    const texts = words.filter((word, i) => word !== words[i - 1]).map(repeated);
    return {
      longest: Math.max(longest, FEW),
      attack: [...(start ? [JSON.stringify(start)] : []), ...texts].join(" + "),
    };
  }

  /** Parses alternatives, up to the end of the pattern or a closing parenthesis. */
  #options(isWhole = false): Part {
    const begin = this.#at;
    const options = [this.#sequence(isWhole)];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      options.push(this.#sequence(isWhole));
    }
    const [only] = options;
    if (options.length === 1 && only !== undefined) return only;
    return {
      source: this.#source.slice(begin, this.#at),
      word: (chars) => options.map((option) => option.word(chars)).find((word) => word !== undefined),
      chars: charsOf(options),
      loops: options.flatMap((option) => option.loops),
      isAmbiguous: options.some(
        (one, i) => isAmbiguous(one) || options.slice(i + 1).some((each) => overlap(one, each)),
      ),
    };
  }

  #sequence(isWhole: boolean): Part {
    const begin = this.#at;
    const parts: Part[] = [];
    while (this.#at < this.#source.length && !"|)".includes(this.#source.charAt(this.#at)))
      parts.push(this.#quantified());
    // The matcher starts at each character, unless the pattern is anchored.
    if (isWhole && parts[0]?.source !== "^") parts.unshift(this.#anything());
    return joined(this.#source.slice(begin, this.#at), parts, isWhole);
  }

  #quantified(): Part {
    const part = this.#atom();
    const [, sign, least = "", comma, most = ""] = this.#take(QUANTIFIER) ?? [];
    if (sign !== undefined) return this.#repeated(part, sign === "+" ? 1 : 0, sign === "?" ? 1 : Infinity);
    if (least === "") return part;
    return this.#repeated(part, Number(least), comma === "" ? Number(least) : Number(most || Infinity));
  }

  #atom(): Part {
    const [assertion] = this.#take(ASSERTION) ?? [];
    if (assertion !== undefined) return { source: assertion, word: () => "", chars: [], loops: [] };
    if (this.#take(REFERENCE) !== undefined) return this.#anything();
    const group = this.#take(GROUP);
    if (group === undefined) return this.#unit(this.#take(UNIT)?.[0] ?? "");
    const inner = this.#options();
    this.#at++;
    // A lookaround consumes no characters.
    return group[1] === undefined ? inner : { ...inner, word: () => "" };
  }

  #unit(source: string): Part {
    const unit = new RegExp(`^${source}$`);
    const chars = this.#chars.filter((char) => unit.test(char));
    return { source, word: (among) => among.find((char) => chars.includes(char)), chars, loops: [] };
  }

  #anything(): Part {
    return this.#repeated(this.#unit("[^]"), 0, Infinity);
  }

  #repeated(body: Part, least: number, most: number): Part {
    if (most > 1) {
      // A text can be divided between a nested repetition and the next round of the outer one.
      for (const { repeat, before, after } of body.loops) {
        this.#exponential ??= sharedText(repeat, [...after, ...before], repeat);
      }
    }
    if (most > FEW && isAmbiguous(body)) this.#exponential ??= body.word(body.chars);
    const loop: Loop = { repeat: { body, ways: most - least + 1, from: new Map() }, before: [], after: [] };
    return {
      ...body,
      source: `(${body.source}){${least},${most}}`,
      word: (chars) => (least === 0 ? "" : body.word(chars)?.repeat(Math.min(least, 1000))),
      loops: most > least ? [...body.loops, loop] : body.loops,
      isAnything:
        most === Infinity &&
        body.chars.length === this.#chars.length &&
        body.source.length > 0 &&
        body.loops.length === 0,
    };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}

/**
 * Joins consecutive parts into one, and records which of their repetitions can share a text.
 * @param isWhole true if the parts are the whole pattern
 */
function joined(source: string, parts: readonly Part[], isWhole: boolean): Part {
  const loops = parts.flatMap((part, at) =>
    part.loops.map(({ repeat, before, after }): Loop => {
      return { repeat, before: [...parts.slice(0, at), ...before], after: [...after, ...parts.slice(at + 1)] };
    }),
  );
  for (const [at, later] of parts.entries()) {
    for (const [earlierAt, earlier] of parts.slice(0, at).entries()) {
      const between = parts.slice(earlierAt + 1, at);
      if (isWhole && isHarmless(between, later, parts.slice(at + 1))) continue;
      for (const { repeat, after } of earlier.loops) {
        for (const { repeat: next, before } of later.loops) {
          const word = sharedText(repeat, [...after, ...between, ...before], next);
          if (word !== undefined) next.from.set(repeat, word);
        }
      }
    }
  }
  const word = (chars: readonly string[]): string | undefined => wordOf(parts, chars);
  return { source, word, chars: charsOf(parts), loops, isAmbiguous: parts.some(isAmbiguous) };
}

/**
 * Returns true if the end of the pattern, `rest`, matches every text that can be divided between `later` and a part
 * before `between`. Then the match succeeds at the first attempt, so the matcher does not backtrack.
 */
function isHarmless(between: readonly Part[], later: Part, rest: readonly Part[]): boolean {
  const end = rest.at(-1)?.source === "$" ? rest.slice(0, -1) : rest;
  const last = end.at(-1) ?? later;
  if (later.isAnything !== true || last.isAnything !== true) return false;
  const given = separators(between);
  return separators(end)?.every((each) => given?.some((one) => one.includes(each))) === true;
}

/** Returns the texts between repetitions of any character; undefined if `parts` contains other repetitions. */
function separators(parts: readonly Part[]): string[] | undefined {
  const found = [""];
  for (const { source, loops, isAnything } of parts) {
    if (isAnything === true) found.push("");
    else if (loops.length > 0) return undefined;
    else found.push(`${found.pop()}\n${source}\n`);
  }
  return found;
}

/**
 * Returns a text that two repetitions and the parts between them all match, so that it can be divided between the two;
 * undefined if there is none.
 */
function sharedText(one: Repeat, between: readonly Part[], other: Repeat): string | undefined {
  const chars = one.body.chars.filter((char) => other.body.chars.includes(char));
  const [first] = chars;
  const [word, next, through] = [one.body.word(chars), other.body.word(chars), wordOf(between, chars)];
  return word === undefined || next === undefined || through === undefined ? undefined : through || word || first;
}

/** Returns the chain of repetitions that takes the most steps for a text of `length` characters. */
function worstChain(loops: readonly Loop[], length: number): Chain {
  const chains = new Map<Repeat, Chain>();
  let worst: Chain = { repeats: [], steps: 0 };
  for (const { repeat } of loops) {
    const ways = Math.min(length, repeat.ways);
    let chain: Chain = { repeats: [repeat], steps: ways };
    for (const { repeats, steps } of [...repeat.from.keys()].flatMap((each) => chains.get(each) ?? [])) {
      // Consecutive repetitions can divide a text in fewer ways than independent ones, unless each can have only few
      // lengths.
      const all = (steps * ways) / (ways > repeats.length + 1 ? repeats.length + 1 : 1);
      if (all > chain.steps) chain = { repeats: [...repeats, repeat], steps: all };
    }
    chains.set(repeat, chain);
    if (chain.steps > worst.steps) worst = chain;
  }
  return worst;
}

function overlap(one: Part, other: Part): boolean {
  const chars = one.chars.filter((char) => other.chars.includes(char));
  return Boolean(one.word(chars)) && Boolean(other.word(chars));
}

function wordOf(parts: readonly Part[], chars: readonly string[]): string | undefined {
  let text = "";
  for (const part of parts) {
    const word = part.word(chars);
    if (word === undefined) return undefined;
    text += word;
  }
  return text;
}

function charsOf(parts: readonly Part[]): string[] {
  return [...new Set(parts.flatMap(({ chars }) => chars))];
}

function isAmbiguous(part: Part): boolean {
  return part.isAmbiguous === true;
}

function repeated(word: string): string {
  return `${JSON.stringify(word)}.repeat(n)`;
}

/** Returns the length of the longest text that should be matched with `pattern`. */
export function longestText(pattern: RegExp): number {
  return backtrackingOf(pattern).longest;
}
