import { hasShare, LinkedSet, sourceOf } from "@quicrpc/core/internal";
import type { PendingConnection } from "./pending-connection.js";

/** Source of connections without an address. It has no maximum share. */
export const NO_SOURCE: string = "";

interface SourcePlaces {
  inUse: number;
  /**
   * Idle connections of this source, in the order in which they became idle. Created with the first idle connection.
   */
  idle: LinkedSet<PendingConnection> | undefined;
}

/**
 * Counts places in a limit, in total and for each source address. The maximum share of a source shrinks as other
 * sources use more places, so that a few sources cannot use all of them.
 */
export class Places {
  inUse = 0;
  private readonly capacity: number;
  private readonly share: number;
  private readonly bySource: Map<string, SourcePlaces> = new Map();

  constructor(capacity: number, share: number) {
    this.capacity = capacity;
    this.share = share;
  }

  /**
   * Returns true if a source may use another place.
   * @param released number of places of other sources that will be released first. Default: 0
   */
  hasRoom(source: string, released: number = 0): boolean {
    const inUse = this.inUse - released;
    if (inUse >= this.capacity) return false;
    return source === NO_SOURCE || hasShare(this.bySource.get(source)?.inUse ?? 0, inUse, this.capacity, this.share);
  }

  /**
   * Returns the list of idle connections of a source, which the caller may change. Returns undefined if the source uses
   * no place.
   */
  idleOf(source: string): LinkedSet<PendingConnection> | undefined {
    const ofSource = this.bySource.get(source);
    return ofSource && (ofSource.idle ??= new LinkedSet());
  }

  count(source: string, change: 1 | -1): void {
    this.inUse += change;
    if (source === NO_SOURCE) return;
    let ofSource = this.bySource.get(source);
    if (ofSource === undefined) {
      ofSource = { inUse: 0, idle: undefined };
      this.bySource.set(source, ofSource);
    }
    ofSource.inUse += change;
    if (ofSource.inUse === 0) this.bySource.delete(source);
  }
}

/** Returns the source that limits count an address under: the address, or the network that contains it. */
export function sourceIn(address: string | undefined): string {
  return address === undefined ? NO_SOURCE : sourceOf(address);
}
