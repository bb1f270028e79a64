/** Number of removed entries at which the array is compacted. */
const COMPACT_AT = 64;

/** A first-in, first-out queue. Removed entries are released at once, and removing takes constant time. */
export class Fifo<T> {
  #entries: (T | undefined)[] = [];
  /** Index of the first entry. Those before it were removed. */
  #head = 0;

  get length(): number {
    return this.#entries.length - this.#head;
  }

  /** The first entry, without removing it; undefined if the queue is empty. */
  get first(): T | undefined {
    return this.#entries[this.#head];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  /** Removes and returns the first entry; undefined if the queue is empty. */
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
