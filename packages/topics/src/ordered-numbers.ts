/** A map of numbers in insertion order. Finding the first takes constant time, however many before it were deleted. */
export class OrderedNumbers<T> {
  /** Values by number. */
  readonly all: Map<number, T> = new Map();
  private first: number | undefined = undefined;
  /** An iterator that stays behind the deleted entries; a new one would skip over them each time. */
  private keys: Iterator<number> | undefined = undefined;

  /** The first number; undefined if the map is empty. */
  get oldest(): number | undefined {
    const { all } = this;
    if (all.size === 0) this.keys = undefined;
    while (all.size > 0 && (this.first === undefined || !all.has(this.first))) {
      this.keys ??= all.keys();
      this.first = this.keys.next().value;
    }
    return all.size === 0 ? undefined : this.first;
  }
}
