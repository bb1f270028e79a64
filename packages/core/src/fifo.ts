/** Removed entries from which on their room is given back. */
const COMPACT_AT = 64;

/** A queue: first in, first out. What was taken from it is released at once, and taking costs the same however many wait. */
export class Fifo<T> {
  #entries: (T | undefined)[] = [];
  /** Index of the first entry; those before it were taken. */
  #head = 0;

  get length(): number {
    return this.#entries.length - this.#head;
  }

  /** The first entry, which stays; undefined where there is none. */
  get first(): T | undefined {
    return this.#entries[this.#head];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  /** Takes the first entry; undefined where there is none. */
  shift(): T | undefined {
    const entries = this.#entries;
    const head = this.#head;
    if (head === entries.length) return undefined;
    const entry = entries[head];
    entries[head] = undefined;
    this.#head = head + 1;
    if (this.#head === entries.length) this.clear();
    else if (this.#head >= COMPACT_AT && this.#head * 2 >= entries.length) this.#compact();
    return entry;
  }

  clear(): void {
    this.#entries = [];
    this.#head = 0;
  }

  #compact(): void {
    this.#entries = this.#entries.slice(this.#head);
    this.#head = 0;
  }
}
