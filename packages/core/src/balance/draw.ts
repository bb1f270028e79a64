/** An element that is drawn with a probability proportional to its weight. */
interface Weighted {
  readonly weight: number;
}

/** Draws one of several at random, each as often as its weight says. The sums are kept for as long as the list is the same. */
export class Draw {
  private list: readonly Weighted[] = [];
  /** Cumulative sums of the weights; undefined where all weights are equal. */
  private sums: readonly number[] | undefined = undefined;

  /** The index of one of `targets`, but for that at `except`. */
  index(targets: readonly Weighted[], except = -1): number {
    if (targets !== this.list) this.take(targets);
    const { sums } = this;
    const { length } = targets;
    if (sums === undefined) {
      return except < 0 ? below(length) : (except + 1 + below(length - 1)) % length;
    }
    const out = targets[except]?.weight ?? 0;
    const before = (sums[except] ?? 0) - out;
    let at = Math.random() * ((sums[length - 1] as number) - out);
    // Beyond what is left out.
    if (except >= 0 && at >= before) at += out;
    const found = sums.findIndex((sum, i) => at < sum && i !== except);
    return found < 0 ? length - 1 : found;
  }

  private take(targets: readonly Weighted[]): void {
    this.list = targets;
    let sum = 0;
    const even = targets.every(({ weight }) => weight === targets[0]?.weight);
    this.sums = even ? undefined : targets.map(({ weight }) => (sum += weight));
  }
}

function below(count: number): number {
  return Math.floor(Math.random() * count) % count;
}
