import { type Link, LinkedSet } from "./linked-set.js";

/** An entry of a `FairQueue`. */
export interface Queued<T> {
  readonly source: string;
  readonly link: Link<T>;
}

/** The entries of one source. */
interface SourceQueue<T> {
  readonly entries: LinkedSet<T>;
  length: number;
}

/** A queue whose sources take turns: each entry is delayed by at most one entry of every other source per turn. */
export class FairQueue<T> {
  /** Non-empty queues in the order of their turns. */
  readonly #queues: Map<string, SourceQueue<T>> = new Map();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Returns the number of entries of one source. */
  lengthOf(source: string): number {
    return this.#queues.get(source)?.length ?? 0;
  }

  push(source: string, value: T): Queued<T> {
    let queue = this.#queues.get(source);
    if (queue === undefined) {
      queue = { entries: new LinkedSet(), length: 0 };
      this.#queues.set(source, queue);
    }
    queue.length++;
    this.#length++;
    return { source, link: queue.entries.add(value) };
  }

  /** Removes an entry, if it is still in the queue. */
  remove({ source, link }: Queued<T>): void {
    const queue = this.#queues.get(source);
    if (queue !== undefined && link.isIn) this.#take(source, queue, link);
  }

  /**
   * Removes and returns the first entry of the next source in turn.
   *
   * @param isEligible returns true if a source may have a turn. Default: all may
   */
  shift(isEligible?: (source: string) => boolean): T | undefined {
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
    let source = "";
    let longest: SourceQueue<T> | undefined;
    for (const [candidate, queue] of this.#queues) {
      if (queue.length <= (longest?.length ?? 0)) continue;
      source = candidate;
      longest = queue;
    }
    const last = longest?.entries.last;
    return longest && last && this.#take(source, longest, last);
  }

  #take(source: string, queue: SourceQueue<T>, link: Link<T>): T {
    queue.entries.remove(link);
    queue.length--;
    this.#length--;
    if (queue.length === 0) this.#queues.delete(source);
    return link.value;
  }
}
