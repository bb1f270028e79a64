import { type ListLink, LinkedSet } from "./linked-set.js";

export interface Queued<T, S = string> {
  readonly source: S;
  readonly link: ListLink<T>;
}

interface SourceQueue<T> {
  readonly entries: LinkedSet<T>;
  length: number;
}

/** A queue whose sources take turns: each entry is delayed by at most one entry of every other source per turn. */
export class FairQueue<T, S = string> {
  /** Non-empty queues in the order of their turns. */
  readonly #queues: Map<S, SourceQueue<T>> = new Map();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  lengthOf(source: S): number {
    return this.#queues.get(source)?.length ?? 0;
  }

  push(source: S, value: T): Queued<T, S> {
    let queue = this.#queues.get(source);
    if (queue === undefined) {
      queue = { entries: new LinkedSet(), length: 0 };
      this.#queues.set(source, queue);
    }
    queue.length++;
    this.#length++;
    return { source, link: queue.entries.add(value) };
  }

  remove({ source, link }: Queued<T, S>): void {
    const queue = this.#queues.get(source);
    if (queue !== undefined && link.isIn) this.#take(source, queue, link);
  }

  /**
   * Removes and returns the first entry of the next source in turn.
   *
   * @param isEligible returns true if a source may have a turn. Default: all may
   */
  shift(isEligible?: (source: S) => boolean): T | undefined {
    for (const [source, queue] of this.#queues) {
      if (isEligible !== undefined && !isEligible(source)) continue;
      const { first } = queue.entries;
      if (first === undefined) continue;
      this.#queues.delete(source);
      this.#queues.set(source, queue);
      return this.#take(source, queue, first);
    }
    return undefined;
  }

  /** Removes and returns the last entry of the source with the most entries. */
  pop(): T | undefined {
    let longest: [S, SourceQueue<T>] | undefined;
    for (const entry of this.#queues) if (entry[1].length > (longest?.[1].length ?? 0)) longest = entry;
    const last = longest?.[1].entries.last;
    return longest && last && this.#take(...longest, last);
  }

  #take(source: S, queue: SourceQueue<T>, link: ListLink<T>): T {
    queue.entries.remove(link);
    queue.length--;
    this.#length--;
    if (queue.length === 0) this.#queues.delete(source);
    return link.value;
  }
}

/**
 * Returns true if one of several users of shared places may take another one. The more places the others have, the
 * fewer it may have, so that a few users cannot take all of them.
 *
 * @param ownCount places that it has
 * @param total places that all users have
 * @param capacity number of places
 * @param share places that it may have if the others have none
 */
export function hasShare(ownCount: number, total: number, capacity: number, share: number): boolean {
  return ownCount < Math.ceil(share * (1 - (total - ownCount) / capacity));
}
