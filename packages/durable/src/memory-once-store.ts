import { RpcError } from "@quicrpc/core";
import { checkOptions, type OnceClaim, type OnceState, type OnceStore, type OptionNames } from "@quicrpc/core/internal";

/** Limits of a `MemoryOnceStore`. */
export interface MemoryOnceStoreOptions {
  /** Maximum number of calls whose results are stored. Default: 100,000. */
  readonly maxEntries?: number;
  /** Maximum estimated total size of the stored ids and results in bytes. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Maximum number of calls of one principal whose results are stored. Default: 10,000. */
  readonly maxEntriesPerPrincipal?: number;
  /** Maximum estimated size in bytes of the ids and results of one principal. Default: 8 MiB. */
  readonly maxBytesPerPrincipal?: number;
  /** Time from which on the store contains every call, in milliseconds since the epoch. Default: now. */
  readonly since?: number;
}

const OPTIONS: OptionNames<MemoryOnceStoreOptions> = {
  maxEntries: true,
  maxBytes: true,
  maxEntriesPerPrincipal: true,
  maxBytesPerPrincipal: true,
  since: true,
};

/** Estimated size of an entry in bytes, without its id and its result. */
const ENTRY_BYTES = 320;
/** Number of entries that are checked for expiry whenever a call is added. */
const SWEPT = 2;
/**
 * Share of a principal's entries that is removed at once when the store is full, so that the search for the largest
 * principal is rare.
 */
const EVICTED_SHARE = 1 / 16;

/** Number of buckets: bit lengths 0 to 53. */
const SIZE_CLASSES = 54;

const NEW_ENTRY = { bytes: 0, endedBytes: 0, record: undefined } as const;

interface Entry {
  readonly fingerprint: string | undefined;
  readonly owner: string;
  readonly madeAt: number;
  readonly keepUntil: number;
  readonly holder: Holder;
  /** End of the lease (`performance.now()`). */
  leaseUntil: number;
  bytes: number;
  endedBytes: number;
  record: Uint8Array | undefined;
}

/** The stored calls of one principal, in the order in which they were added. */
interface Holder {
  readonly principal: string;
  readonly ids: Set<string>;
  /** Ids of the calls that have ended. Their results may be removed if the store is full. */
  readonly ended: Set<string>;
  bytes: number;
  /** Total size in bytes of the calls that have ended; `sizeClass` is the bit length of that number. */
  endedBytes: number;
  sizeClass: number;
  /** Time (`performance.now()`) before which no lease of a running call expires. */
  runsUntil: number;
  /** Creation time (milliseconds since the epoch) before which keys of this principal may have been removed. */
  forgottenUntil: number;
}

/**
 * Stores the results of `once` calls in this process's memory. If the store is full, it removes the oldest results of
 * the principal with the most. A repeated call whose key is as old as a removed result, or older than the store, fails
 * with an unknown outcome, because its handler may have run.
 */
export class MemoryOnceStore implements OnceStore {
  private readonly entries: Map<string, Entry> = new Map();
  private readonly holders: Map<string, Holder> = new Map();
  /** Principals by the bit length of their `endedBytes`, so that one with many bytes is found without a search. */
  private readonly bySizeClass: readonly Set<Holder>[] = Array.from({ length: SIZE_CLASSES }, () => new Set<Holder>());
  private readonly bounds: Required<Omit<MemoryOnceStoreOptions, "since">>;
  private forgottenUntil: number;
  private bytes = 0;
  private sweep: IterableIterator<[string, Entry]> | undefined = undefined;

  constructor(options: MemoryOnceStoreOptions = {}) {
    checkOptions("MemoryOnceStore()", options, OPTIONS);
    const { maxEntries = 100_000, maxBytes = 64 * 1024 * 1024 } = options;
    const { maxEntriesPerPrincipal = 10_000, maxBytesPerPrincipal = 8 * 1024 * 1024 } = options;
    this.forgottenUntil = options.since ?? Date.now();
    this.bounds = { maxEntries, maxBytes, maxEntriesPerPrincipal, maxBytesPerPrincipal };
  }

  /** Number of stored calls. */
  get size(): number {
    return this.entries.size;
  }

  async claim(id: string, claim: OnceClaim): Promise<OnceState> {
    const present = this.entries.get(id);
    if (present !== undefined && !this.isOver(present)) return stateOf(present);
    this.expireSome();
    const { principal, first, madeAt, startable, fingerprint, owner, leaseMs, keepMs } = claim;
    if (present !== undefined) this.remove(id, present);
    const holder = this.holders.get(principal);
    const forgotten = Math.max(this.forgottenUntil, holder?.forgottenUntil ?? 0);
    if (!first && madeAt < forgotten) return { state: "forgotten" };
    if (!startable) return { state: "absent" };
    const bytes = ENTRY_BYTES + 2 * id.length;
    this.makeRoom(principal, 1, bytes);
    const owningHolder = this.holders.get(principal) ?? this.newHolder(principal);
    const leaseUntil = performance.now() + leaseMs;
    const keepUntil = Date.now() + keepMs;
    const entry = { fingerprint, owner, madeAt, keepUntil, holder: owningHolder, leaseUntil, ...NEW_ENTRY };
    this.entries.set(id, entry);
    owningHolder.ids.add(id);
    owningHolder.runsUntil = Math.min(owningHolder.runsUntil, leaseUntil);
    this.grow(entry, bytes);
    return { state: "claimed" };
  }

  async find(id: string): Promise<OnceState> {
    const entry = this.entries.get(id);
    return entry === undefined ? { state: "absent" } : stateOf(entry);
  }

  async renew(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const entry = this.owned(id, owner);
    if (entry !== undefined) entry.leaseUntil = performance.now() + leaseMs;
    return entry !== undefined;
  }

  async settle(id: string, owner: string, record: Uint8Array): Promise<boolean> {
    const entry = this.owned(id, owner);
    if (entry === undefined) return false;
    this.makeRoom(entry.holder.principal, 0, record.length);
    // If the lease had expired, the entry itself was evicted.
    if (this.entries.get(id) !== entry) return false;
    entry.record = record;
    this.grow(entry, record.length);
    this.markEnded(id, entry);
    return true;
  }

  async release(id: string, owner: string): Promise<void> {
    const entry = this.owned(id, owner);
    if (entry !== undefined) this.remove(id, entry);
  }

  private owned(id: string, owner: string): Entry | undefined {
    const entry = this.entries.get(id);
    return entry?.owner === owner && entry.record === undefined ? entry : undefined;
  }

  private isOver(entry: Entry): boolean {
    return entry.keepUntil <= Date.now() && !isRunning(entry);
  }

  private newHolder(principal: string): Holder {
    const counts = { bytes: 0, endedBytes: 0, sizeClass: 0, runsUntil: 0, forgottenUntil: 0 };
    const holder: Holder = { principal, ids: new Set(), ended: new Set(), ...counts };
    this.holders.set(principal, holder);
    return holder;
  }

  private grow(entry: Entry, bytes: number): void {
    entry.bytes += bytes;
    entry.holder.bytes += bytes;
    this.bytes += bytes;
  }

  /** Marks an entry as ended: its handler has settled, or its lease has expired. */
  private markEnded(id: string, entry: Entry): void {
    // The entry may have been marked as ended before, when its lease had expired.
    this.markRunning(id, entry);
    entry.holder.ended.add(id);
    entry.endedBytes = entry.bytes;
    this.addEndedBytes(entry.holder, entry.bytes);
  }

  private markRunning(id: string, entry: Entry): void {
    if (entry.holder.ended.delete(id)) this.addEndedBytes(entry.holder, -entry.endedBytes);
  }

  private addEndedBytes(holder: Holder, endedBytes: number): void {
    holder.endedBytes += endedBytes;
    const sizeClass = holder.endedBytes === 0 ? 0 : Math.floor(Math.log2(holder.endedBytes)) + 1;
    if (sizeClass === holder.sizeClass) return;
    this.bySizeClass[holder.sizeClass]?.delete(holder);
    holder.sizeClass = sizeClass;
    if (sizeClass > 0) this.bySizeClass[sizeClass]?.add(holder);
  }

  private remove(id: string, entry: Entry): void {
    const { holder } = entry;
    this.entries.delete(id);
    this.markRunning(id, entry);
    holder.ids.delete(id);
    this.grow(entry, -entry.bytes);
    if (holder.ids.size > 0) return;
    this.holders.delete(holder.principal);
    this.forgottenUntil = Math.max(this.forgottenUntil, holder.forgottenUntil);
  }

  /** Checks the next few entries for expiry. Successive calls check all entries in turn. */
  private expireSome(): void {
    for (let i = 0; i < SWEPT; i++) {
      this.sweep ??= this.entries.entries();
      const { done, value } = this.sweep.next();
      if (done === true) this.sweep = undefined;
      else if (this.isOver(value[1])) this.remove(value[0], value[1]);
      else this.endIfLapsed(value[0], value[1]);
    }
  }

  /**
   * Removes results until there is room for new entries. Throws `RpcError` `resource_exhausted` if only running calls
   * are left.
   */
  private makeRoom(principal: string, entries: number, bytes: number): void {
    const { maxEntries, maxBytes, maxEntriesPerPrincipal, maxBytesPerPrincipal } = this.bounds;
    const holder = this.holders.get(principal);
    if (holder !== undefined) {
      const isFull = (): boolean =>
        holder.ids.size + entries > maxEntriesPerPrincipal || holder.bytes + bytes > maxBytesPerPrincipal;
      this.evict(holder, isFull);
      if (isFull()) this.endLapsed(holder);
      this.evict(holder, isFull);
      if (isFull()) throw crowded("its principal's calls");
    }
    const isFull = (): boolean => this.entries.size + entries > maxEntries || this.bytes + bytes > maxBytes;
    while (isFull()) {
      const largest = this.largest();
      if (largest === undefined) throw crowded("calls");
      this.evict(largest, isFull);
    }
  }

  /**
   * Returns the principal whose removable results have about the largest size. Undefined if no results can be removed.
   */
  private largest(): Holder | undefined {
    for (let sizeClass = SIZE_CLASSES - 1; sizeClass > 0; sizeClass--)
      for (const holder of this.bySizeClass[sizeClass] ?? []) return holder;
    return undefined;
  }

  private evict(holder: Holder, isFull: () => boolean): void {
    if (!isFull()) return;
    let quota = Math.ceil(holder.ids.size * EVICTED_SHARE);
    for (const id of holder.ended) {
      if (quota <= 0 && !isFull()) return;
      const entry = this.entries.get(id) as Entry;
      // Its lease had expired, and was renewed.
      if (isRunning(entry)) {
        this.markRunning(id, entry);
        continue;
      }
      quota--;
      holder.forgottenUntil = Math.max(holder.forgottenUntil, entry.madeAt + 1);
      this.remove(id, entry);
    }
  }

  /**
   * Marks calls with an expired lease as ended. Computes when the next lease expires, so that the entries are not
   * checked before.
   */
  private endLapsed(holder: Holder): void {
    if (performance.now() < holder.runsUntil) return;
    holder.runsUntil = Number.POSITIVE_INFINITY;
    for (const id of holder.ids) {
      const entry = this.entries.get(id) as Entry;
      this.endIfLapsed(id, entry);
      if (isRunning(entry)) holder.runsUntil = Math.min(holder.runsUntil, entry.leaseUntil);
    }
  }

  private endIfLapsed(id: string, entry: Entry): void {
    if (!isRunning(entry) && !entry.holder.ended.has(id)) this.markEnded(id, entry);
  }
}

function crowded(owner: string): RpcError {
  return new RpcError("resource_exhausted", `too many once calls of ${owner} are in progress`, { refused: true });
}

function isRunning({ record, leaseUntil }: Entry): boolean {
  return record === undefined && leaseUntil > performance.now();
}

function stateOf(entry: Entry): OnceState {
  const { fingerprint, record } = entry;
  if (record !== undefined) return { state: "done", fingerprint, record };
  return { state: isRunning(entry) ? "running" : "lost", fingerprint };
}
