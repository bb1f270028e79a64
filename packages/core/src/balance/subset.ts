import type { TargetSpec } from "./discovery.js";
import { hashOf, preference } from "./rendezvous.js";

/** Which of many targets a pool keeps sessions with. */
export interface SubsetOptions {
  /** Targets of each priority that it keeps sessions with. While none of them is of use, as many further ones are dialled. */
  readonly size: number;
  /** A name of this client by which it finds the same ones again, such as its pod's. Default: a random one. */
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

  /** The place of each target: of one priority those of 0 to `size - 1` are the first to be dialled, then as many more. */
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
