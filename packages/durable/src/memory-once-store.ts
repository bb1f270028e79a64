import { RpcError } from "@quicrpc/core";
import { checkOptions, type OnceClaim, type OnceState, type OnceStore, type OptionNames } from "@quicrpc/core/internal";

/** Limits of a store in memory. */
export interface MemoryOnceStoreOptions {
  /** Most calls that are kept. Default: 100,000. */
  readonly maxEntries?: number;
  /** Most bytes of their ids and responses, by estimate. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Most calls of one principal that are kept. Default: 10,000. */
  readonly maxEntriesPerPrincipal?: number;
  /** Most bytes of these, by estimate. Default: 8 MiB. */
  readonly maxBytesPerPrincipal?: number;
  /** Time since which the store knows every call, in milliseconds since the epoch. Default: now. */
  readonly since?: number;
}

const OPTIONS: OptionNames<MemoryOnceStoreOptions> = {
  maxEntries: true,
  maxBytes: true,
  maxEntriesPerPrincipal: true,
  maxBytesPerPrincipal: true,
  since: true,
};

/** Estimated bytes of an entry in addition to its id and its record. */
const ENTRY_BYTES = 320;
/** Number of entries that each claim checks for expiry. */
const SWEPT = 2;
/** Share of a principal's entries that is dropped at once, so that the largest principal is rarely searched for. */
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
  /** End of the lease, by the monotonic clock. */
  leaseUntil: number;
  bytes: number;
  /** The value of `bytes` when the call ended. */
  endedBytes: number;
  record: Uint8Array | undefined;
}

/** The entries of one principal, in insertion order. */
interface Holder {
  readonly principal: string;
  readonly ids: Set<string>;
  /** Ids of the calls that have ended and may be dropped. */
  readonly ended: Set<string>;
  bytes: number;
  /** Bytes of the calls that have ended (`endedBytes`), and the bit length of that number. */
  endedBytes: number;
  sizeClass: number;
  /** Time, by the monotonic clock, until which calls can only end by being settled. */
  runsUntil: number;
  /** Keys made before this may have been evicted. */
  forgottenUntil: number;
}

/**
 * Remembers calls in this process's memory. If it is full, the oldest results of a principal are dropped. A repeated
 * call with a key of that age, or from before the store was created, is answered with an unknown outcome, because it
 * may have run.
 */
export class MemoryOnceStore implements OnceStore {
  private readonly entries: Map<string, Entry> = new Map();
  private readonly holders: Map<string, Holder> = new Map();
  /** Holders by bit length of their `endedBytes`, so that a large one is found without a search. */
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

  /** Calls that are kept. */
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

  /** Called when nothing runs under the entry any more. */
  private markEnded(id: string, entry: Entry): void {
    // It may have counted as ended before, when its lease had expired.
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

  /** Checks the next few entries, in turn, for expiry. */
  private expireSome(): void {
    for (let i = 0; i < SWEPT; i++) {
      this.sweep ??= this.entries.entries();
      const { done, value } = this.sweep.next();
      if (done === true) this.sweep = undefined;
      else if (this.isOver(value[1])) this.remove(value[0], value[1]);
      else this.endIfLapsed(value[0], value[1]);
    }
  }

  /** Throws `RpcError` `resource_exhausted` if only running calls are left. */
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

  /** Returns a principal with the most results that can be dropped. */
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

  /** Marks the calls whose lease has expired, and computes when the next one expires, so that calls are not checked before. */
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
