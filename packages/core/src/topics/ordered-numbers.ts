/** Numbers in the order in which they were added, with what is kept by each. Finding the first costs the same however many before it were deleted. */
export class OrderedNumbers<T> {
  /** By number. */
  readonly all: Map<number, T> = new Map();
  private first: number | undefined = undefined;
  /** Goes on after what was deleted, over which a new iterator would walk each time. */
  private keys: Iterator<number> | undefined = undefined;

  /** The first number; undefined where there is none. */
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
