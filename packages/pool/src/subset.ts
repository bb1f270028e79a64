import type { TargetSpec } from "./discovery.js";
import { hashOf, preference } from "./rendezvous.js";

/** Selects the targets, out of many, to which a pool keeps sessions. */
export interface SubsetOptions {
  /** Number of targets of each priority with which sessions are kept. If none of them is usable, as many further ones are dialled. */
  readonly size: number;
  /**
   * A stable name of this client, such as the name of its pod, so that it selects the same targets again. Default: a
   * random one.
   */
  readonly client?: string;
}

/** Chooses, for one client, targets by rendezvous hashing: it keeps those it has when others come or go. */
export class Subset {
  private readonly size: number;
  private readonly client: number;

  constructor({ size, client = String(Math.random()) }: SubsetOptions) {
    this.size = size;
    this.client = hashOf(client);
  }

  /**
   * Returns the rank of each target. Within a priority, ranks 0 to `size - 1` are dialled first, then the next `size`.
   */
  places(specs: readonly Required<TargetSpec>[]): ReadonlyMap<string, number> {
    const preferred = specs
      .map(({ target, priority }) => ({ target, priority, by: preference(this.client, hashOf(target)) }))
      .toSorted((a, b) => a.priority - b.priority || b.by - a.by || (a.target < b.target ? -1 : 1));
    const places = new Map<string, number>();
    let first = 0;
    preferred.forEach(({ target, priority }, index) => {
      if (priority !== preferred[first]?.priority) first = index;
      places.set(target, Math.floor((index - first) / this.size));
    });
    return places;
  }
}
