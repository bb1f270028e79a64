import { hasShare, LinkedSet, sourceOf } from "@quicrpc/core/internal";
import type { PendingConnection } from "./connection-limiter.js";

/** Source of connections without an address, to which no share applies. */
export const NO_SOURCE: string = "";

interface SourcePlaces {
  inUse: number;
  /** Its connections that are idle, in the order in which they became so. Created with the first. */
  idle: LinkedSet<PendingConnection> | undefined;
}

/**
 * Places with a share for each source. A source's share shrinks as other sources use more places, so that a few sources
 * cannot use all of them.
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

  /** @param released number of places of other sources that are released first. Default: 0 */
  hasRoom(source: string, released: number = 0): boolean {
    const inUse = this.inUse - released;
    if (inUse >= this.capacity) return false;
    return source === NO_SOURCE || hasShare(this.bySource.get(source)?.inUse ?? 0, inUse, this.capacity, this.share);
  }

  /** Returns the idle connections of a source, to read and to change; undefined if the source has no place. */
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

/** Returns the source to which limits assign an address. */
export function sourceIn(address: string | undefined): string {
  return address === undefined ? NO_SOURCE : sourceOf(address);
}
