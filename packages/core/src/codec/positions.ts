/** Some positions in a text, between two: a bit for each of those. */
export class Positions {
  isEmpty = true;
  /** The last of them; -1 where there is none. */
  last = -1;
  /** The first position that has a bit. */
  readonly #base: number;
  readonly #words: Int32Array;

  /** None yet, of those from `first` to `last`. */
  constructor(first: number, last: number) {
    this.#base = first & ~31;
    this.#words = new Int32Array(((last - this.#base) >>> 5) + 1);
  }

  /** All from `first` to `last`. */
  static between(first: number, last: number): Positions {
    const all = new Positions(first, last);
    all.add(first, last);
    return all;
  }

  /** The positions in either. */
  static ofBoth(one: Positions, other: Positions): Positions {
    if (one.isEmpty) return other;
    if (other.isEmpty) return one;
    const both = new Positions(Math.min(one.#base, other.#base), Math.max(one.last, other.last));
    both.#include(one);
    both.#include(other);
    return both;
  }

  /** Adds those from `first` to `last`. No range that was added before begins later. */
  add(first: number, last: number): void {
    // What was added before reaches from no later than here to its last.
    const from = Math.max(first, this.last + 1) - this.#base;
    const to = last - this.#base;
    if (from > to) return;
    this.isEmpty = false;
    this.last = last;
    const [low, high] = [-1 << from, -1 >>> (~to & 31)];
    const words = this.#words;
    const [at, end] = [from >>> 5, to >>> 5];
    if (at === end) words[at] = (words[at] as number) | (low & high);
    else {
      words[at] = (words[at] as number) | low;
      words.fill(-1, at + 1, end);
      words[end] = (words[end] as number) | high;
    }
  }

  has(position: number): boolean {
    const at = position - this.#base;
    return at >= 0 && (((this.#words[at >>> 5] ?? 0) >>> at) & 1) === 1;
  }

  /** Returns the first from `position` on; -1 where there is none. */
  next(position: number): number {
    return this.#find(position, 0);
  }

  /** Returns the first position from `position` on, which is one of these, that is none of them. */
  after(position: number): number {
    const found = this.#find(position, -1);
    return found < 0 ? this.last + 1 : found;
  }

  /** The first position from `position` on whose bit is not that of `other`, which is all zeros or all ones. */
  #find(position: number, other: number): number {
    const words = this.#words;
    const from = Math.max(0, position - this.#base);
    let at = from >>> 5;
    if (at >= words.length) return -1;
    let word = ((words[at] as number) ^ other) & (-1 << from);
    while (word === 0 && ++at < words.length) word = (words[at] as number) ^ other;
    return word === 0 ? -1 : this.#base + at * 32 + 31 - Math.clz32(word & -word);
  }

  #include(some: Positions): void {
    const words = this.#words;
    const offset = (some.#base - this.#base) >>> 5;
    const end = (some.last - some.#base) >>> 5;
    for (let at = 0; at <= end; at++) {
      words[offset + at] = (words[offset + at] as number) | (some.#words[at] as number);
    }
    this.isEmpty = false;
    this.last = Math.max(this.last, some.last);
  }
}
