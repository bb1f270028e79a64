import type { Limits } from "@quicrpc/core";
import { FairQueue, hasShare, sourceOf } from "@quicrpc/core/transport";
import type { ListenTransportOptions } from "@quicrpc/quic";
import type { HeldReads } from "./held-reads.js";

/** Sessions at once of a listener. */
const MAX_SESSIONS = 10_000;
/** Connections and sessions at once that are not admitted yet. */
const MAX_HANDSHAKES = 1_000;
/** The part of `maxHandshakes` that one address may have. */
const ADDRESS_SHARE = 1 / 4;

/** Limits of a door. */
export interface DoorLimits {
  readonly maxSessions: number;
  readonly maxHandshakes: number;
  readonly maxHandshakesPerAddress: number;
  readonly maxHandshakeMs: number;
  readonly maxCloseMs: number;
}

/** The limits of a listener, with the defaults that the QUIC engine has. */
export function doorLimits(transport: ListenTransportOptions | undefined, limits: Limits): DoorLimits {
  const { maxSessions = MAX_SESSIONS, maxHandshakes = MAX_HANDSHAKES } = transport ?? {};
  const share = transport?.maxHandshakesPerAddress ?? Math.ceil(maxHandshakes * ADDRESS_SHARE);
  const { maxHandshakeMs, maxCloseMs } = limits;
  return { maxSessions, maxHandshakes, maxHandshakesPerAddress: share, maxHandshakeMs, maxCloseMs };
}

/** A connection that asks for a visit. */
interface Newcomer {
  /** Undefined for a peer on this machine that has no address. */
  readonly address: string | undefined;
  /** Closes the connection: the time of its visit is over. */
  readonly close: () => void;
  readonly enter: (visit: Visit) => void;
  /** It gets no visit. */
  readonly refuse: () => void;
}

/** A newcomer that found no room. */
interface Waiting extends Newcomer {
  readonly timer: ReturnType<typeof setTimeout>;
}

/** The source of those without an address: they have no share. */
const NO_SOURCE = "";

/**
 * Counts who stands before a listener and who is in. Whoever comes is a visit: pending until the peer is authenticated and
 * has greeted, for a limited time and within its address's share; then, until it leaves, a session or what carries some.
 * Connections that find no room wait for it: the addresses take turns.
 */
export class Door {
  readonly limits: DoorLimits;
  private sessions = 0;
  private pending = 0;
  private readonly shares: Map<string, number> = new Map();
  private readonly waiting: FairQueue<Waiting> = new FairQueue();

  constructor(limits: DoorLimits) {
    this.limits = limits;
  }

  /**
   * A visit of the address; undefined if there is no room. `close` is called when the time for it is over.
   * @param address undefined for a peer on this machine that has none
   * @param within milliseconds in which it must be admitted
   */
  enter(
    address: string | undefined,
    close: () => void,
    within: number = this.limits.maxHandshakeMs,
  ): Visit | undefined {
    const { maxHandshakes } = this.limits;
    if (this.full || this.pending >= maxHandshakes) return undefined;
    const source = address === undefined ? undefined : sourceOf(address);
    if (source !== undefined && !this.hasShare(source)) return undefined;
    return new Visit(this, source, close, within);
  }

  /**
   * Calls `enter` with a visit: at once, or when there is room. Calls `refuse` instead if there are `maxSessions`, if no room was found within
   * `maxHandshakeMs`, or if this is the newest connection of the address that has most of those that wait, when all connections together
   * exceed `maxSessions` and `maxHandshakes`.
   * @returns a function that ends the wait
   */
  arrive(newcomer: Newcomer): () => void {
    const { maxSessions, maxHandshakes } = this.limits;
    const visit = this.enter(newcomer.address, newcomer.close);
    let leave = (): void => {};
    if (visit !== undefined) newcomer.enter(visit);
    else if (this.full) newcomer.refuse();
    else leave = this.wait(newcomer);
    if (this.sessions + this.pending + this.waiting.length > maxSessions + maxHandshakes) this.refuseNewest();
    return leave;
  }

  private wait(newcomer: Newcomer): () => void {
    const timer = setTimeout(() => {
      this.waiting.remove(queued);
      newcomer.refuse();
    }, this.limits.maxHandshakeMs).unref();
    const source = newcomer.address === undefined ? NO_SOURCE : sourceOf(newcomer.address);
    const queued = this.waiting.push(source, { ...newcomer, timer });
    return () => {
      clearTimeout(timer);
      this.waiting.remove(queued);
    };
  }

  private refuseNewest(): void {
    const newest = this.waiting.pop();
    if (newest === undefined) return;
    clearTimeout(newest.timer);
    newest.refuse();
  }

  /** Gives visits to connections that wait, as far as there is room. */
  private enterWaiting(): void {
    while (!this.full && this.pending < this.limits.maxHandshakes) {
      const next = this.waiting.shift((source) => source === NO_SOURCE || this.hasShare(source));
      if (next === undefined) return;
      clearTimeout(next.timer);
      const visit = this.enter(next.address, next.close);
      if (visit !== undefined) next.enter(visit);
    }
  }

  /** Whether the address may have one more that is pending: fewer where others have some, so that a few do not take all. */
  hasShare(source: string): boolean {
    const { maxHandshakes, maxHandshakesPerAddress } = this.limits;
    return hasShare(this.shares.get(source) ?? 0, this.pending, maxHandshakes, maxHandshakesPerAddress);
  }

  /** Whether there are as many sessions as may be. */
  get full(): boolean {
    return this.sessions >= this.limits.maxSessions;
  }

  takeSession(): void {
    this.sessions++;
  }

  releaseSession(): void {
    this.sessions--;
    this.enterWaiting();
  }

  /** One visit more, or less, is pending. */
  count(source: string | undefined, change: 1 | -1): void {
    this.pending += change;
    if (source !== undefined) {
      const share = (this.shares.get(source) ?? 0) + change;
      if (share === 0) this.shares.delete(source);
      else this.shares.set(source, share);
    }
    if (change === -1) this.enterWaiting();
  }
}

/** One connection, or one session of a connection that carries several. */
export class Visit {
  private readonly door: Door;
  private source: string | undefined;
  private readonly close: () => void;
  private deadline = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private isPending = false;
  private isSession = false;
  private over = false;
  /** Visits that this one's connection carries. */
  private carried = 0;
  private held: HeldReads | undefined = undefined;
  private gone: (() => void) | undefined = undefined;

  constructor(door: Door, source: string | undefined, close: () => void, within: number) {
    this.door = door;
    this.source = source;
    this.close = close;
    this.begin(within);
  }

  /** A balancer has said whose visit it is: returns whether that address may have one more. */
  cameFrom(address: string): boolean {
    const source = sourceOf(address);
    if (!this.door.hasShare(source)) return false;
    const { source: previous } = this;
    this.source = source;
    this.door.count(source, 1);
    this.door.count(previous, -1);
    return true;
  }

  /** Milliseconds until it must be a session. */
  get remainingMs(): number {
    return Math.max(1, this.deadline - performance.now());
  }

  /** Milliseconds that a visit has which its connection carries: no more than the connection itself, while that is pending. */
  get carriedMs(): number {
    return this.isPending ? this.remainingMs : this.door.limits.maxHandshakeMs;
  }

  /**
   * Its connection carries another visit, whose own time counts until that leaves: then the function returned is to be
   * called. A connection that carries none is pending.
   */
  carry(): () => void {
    this.carried++;
    clearTimeout(this.timer);
    return () => {
      if (--this.carried > 0 || this.over) return;
      if (this.isPending) this.expireIn(this.remainingMs);
      else this.begin(this.door.limits.maxHandshakeMs);
    };
  }

  /** Holds back all that the peer sends from here on, until it has been decided whether it may have a session. */
  hold(held: HeldReads): void {
    this.held = held;
  }

  /** Lets so many bytes pass ahead of that: what the client says of itself. */
  greet(bytes: number): void {
    this.held?.pass(bytes);
  }

  /** It waits for `authenticate`, which has `remainingMs`. */
  arrived(): void {
    clearTimeout(this.timer);
  }

  /** Calls `listener` when its connection has ended. */
  onGone(listener: () => void): void {
    if (this.over) listener();
    else this.gone = listener;
  }

  /** It may have a session if there is room for one more: returns whether there is. Its peer has to greet. */
  admit(): boolean {
    // Another listener reports the end of its connection.
    if (this.over) return true;
    if (this.door.full) return false;
    // The session itself closes where a peer does not greet, and says so.
    this.expireIn(this.door.limits.maxHandshakeMs + this.door.limits.maxCloseMs);
    this.releaseHeld();
    return true;
  }

  /** Its peer has greeted: it is a session, if there still is room. Otherwise it is to be closed. */
  greeted(): boolean {
    if (this.over) return true;
    if (this.door.full) {
      this.expireIn(this.door.limits.maxCloseMs);
      return false;
    }
    this.door.takeSession();
    this.isSession = true;
    this.settled();
    return true;
  }

  /** It gets no session, and a moment to take in why. */
  refuse(): void {
    if (this.over) return;
    this.expireIn(this.door.limits.maxCloseMs);
    this.releaseHeld();
  }

  /** It is pending no longer: it is a session, or carries some. */
  settled(): void {
    clearTimeout(this.timer);
    if (!this.isPending) return;
    this.isPending = false;
    this.door.count(this.source, -1);
  }

  /** Its connection has ended. */
  leave(): void {
    if (this.over) return;
    this.settled();
    this.over = true;
    if (this.isSession) this.door.releaseSession();
    this.gone?.();
  }

  private begin(ms: number): void {
    this.isPending = true;
    this.door.count(this.source, 1);
    this.deadline = performance.now() + ms;
    this.expireIn(ms);
  }

  private expireIn(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.close, ms).unref();
  }

  private releaseHeld(): void {
    this.held?.release();
    this.held = undefined;
  }
}
