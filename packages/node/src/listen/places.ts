import { hasShare, LinkedSet, sourceOf } from "@quicrpc/core/internal";
import type { PendingConnection } from "./connection-limiter.js";

/** Source of connections without an address, to which no share applies. */
export const NO_SOURCE: string = "";

/** The places of one source. */
interface SourcePlaces {
  taken: number;
  /** Its connections that are idle, in the order in which they became so. Created with the first. */
  idle: LinkedSet<PendingConnection> | undefined;
}

/**
 * Places with a share for each source. A source's share shrinks as other sources use more places, so that a few sources
 * cannot use all of them.
 */
export class Places {
  taken = 0;
  private readonly places: number;
  private readonly share: number;
  private readonly bySource: Map<string, SourcePlaces> = new Map();

  constructor(places: number, share: number) {
    this.places = places;
    this.share = share;
  }

  /** @param released number of places of other sources that are released first. Default: 0 */
  hasRoom(source: string, released: number = 0): boolean {
    const taken = this.taken - released;
    if (taken >= this.places) return false;
    return source === NO_SOURCE || hasShare(this.bySource.get(source)?.taken ?? 0, taken, this.places, this.share);
  }

  /** Returns the idle connections of a source, to read and to change; undefined if the source has no place. */
  idleOf(source: string): LinkedSet<PendingConnection> | undefined {
    const own = this.bySource.get(source);
    return own && (own.idle ??= new LinkedSet());
  }

  count(source: string, change: 1 | -1): void {
    this.taken += change;
    if (source === NO_SOURCE) return;
    let own = this.bySource.get(source);
    if (own === undefined) {
      own = { taken: 0, idle: undefined };
      this.bySource.set(source, own);
    }
    own.taken += change;
    if (own.taken === 0) this.bySource.delete(source);
  }
}

/** Returns the source to which limits assign an address. */
export function sourceIn(address: string | undefined): string {
  return address === undefined ? NO_SOURCE : sourceOf(address);
}
