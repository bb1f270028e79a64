/** Values by small dense index: an index is free again after `release`. Faster than a `Map` by an order. */
export class CallTable<T> {
  private readonly entries: (T | undefined)[] = [];
  private readonly free: number[] = [];
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.entries.length - this.free.length;
  }

  /** The index of the new entry, or -1 when the table is full. */
  add(entry: T): number {
    const index = this.free.pop() ?? this.entries.length;
    if (index >= this.capacity) return -1;
    this.entries[index] = entry;
    return index;
  }

  get(index: number): T | undefined {
    return index < this.entries.length ? this.entries[index] : undefined;
  }

  replace(index: number, entry: T): void {
    this.entries[index] = entry;
  }

  release(index: number): void {
    this.entries[index] = undefined;
    this.free.push(index);
  }

  /** All calls in the table. */
  live(): T[] {
    return this.entries.filter((entry) => entry !== undefined);
  }

  /** Empties the table and returns what was in it. */
  drain(): T[] {
    const live = this.live();
    this.entries.length = 0;
    this.free.length = 0;
    return live;
  }
}
