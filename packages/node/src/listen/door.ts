import type { Limits } from "@quicrpc/core";
import { FairQueue, hasShare, sourceOf } from "@quicrpc/core/transport";
import type { ListenTransportOptions } from "@quicrpc/quic";
import type { HeldReads } from "./held-reads.js";

/** Default maximum number of concurrent sessions of a listener. */
const MAX_SESSIONS = 10_000;
/** Default maximum number of concurrent connections and sessions that are not admitted yet. */
const MAX_HANDSHAKES = 1_000;
/** Share of `maxHandshakes` that one address may use. */
const ADDRESS_SHARE = 1 / 4;
/** The part of `maxSessions` that one address may have: many, since a proxy or a network with one address has many clients. */
const SESSIONS_SHARE = 3 / 4;

/** Limits of a `ConnectionLimiter`. */
export interface DoorLimits {
  readonly maxSessions: number;
  /** Sessions of one address while others have none. */
  readonly maxSessionsPerAddress: number;
  readonly maxHandshakes: number;
  readonly maxHandshakesPerAddress: number;
  readonly maxHandshakeMs: number;
  readonly maxCloseMs: number;
}

/** Returns the limits of a listener. The defaults are those of the QUIC engine. */
export function doorLimits(transport: ListenTransportOptions | undefined, limits: Limits): DoorLimits {
  const { maxSessions = MAX_SESSIONS, maxHandshakes = MAX_HANDSHAKES } = transport ?? {};
  const share = transport?.maxHandshakesPerAddress ?? Math.ceil(maxHandshakes * ADDRESS_SHARE);
  const given = transport?.maxSessionsPerAddress ?? Math.ceil(maxSessions * SESSIONS_SHARE);
  return {
    maxSessions,
    maxSessionsPerAddress: given === 0 ? Infinity : given,
    maxHandshakes,
    maxHandshakesPerAddress: share,
    maxHandshakeMs: limits.maxHandshakeMs,
    maxCloseMs: limits.maxCloseMs,
  };
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
  private readonly sessions: Places;
  private readonly pending: Places;
  private readonly waiting: FairQueue<Waiting> = new FairQueue();

  constructor(limits: DoorLimits) {
    this.limits = limits;
    this.sessions = new Places(limits.maxSessions, limits.maxSessionsPerAddress);
    this.pending = new Places(limits.maxHandshakes, limits.maxHandshakesPerAddress);
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
    const source = sourceIn(address);
    if (this.isFull(source) || !this.pending.hasRoom(source)) return undefined;
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
    const source = sourceIn(newcomer.address);
    const visit = this.enter(newcomer.address, newcomer.close);
    let leave = (): void => {};
    if (visit !== undefined) newcomer.enter(visit);
    else if (this.isFull(source)) newcomer.refuse();
    else leave = this.wait(newcomer, source);
    if (this.sessions.taken + this.pending.taken + this.waiting.length > maxSessions + maxHandshakes)
      this.refuseNewest();
    return leave;
  }

  private wait(newcomer: Newcomer, source: string): () => void {
    const timer = setTimeout(() => {
      this.waiting.remove(queued);
      newcomer.refuse();
    }, this.limits.maxHandshakeMs).unref();
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
    while (this.waiting.length > 0 && this.pending.taken < this.limits.maxHandshakes) {
      const next = this.waiting.shift((source) => !this.isFull(source) && this.pending.hasRoom(source));
      if (next === undefined) return;
      clearTimeout(next.timer);
      const visit = this.enter(next.address, next.close);
      if (visit !== undefined) next.enter(visit);
    }
  }

  /** Whether the address may have one more that is pending. */
  hasShare(source: string): boolean {
    return this.pending.hasRoom(source);
  }

  /** Whether there are as many sessions as may be, of all or of a source. */
  isFull(source: string): boolean {
    return !this.sessions.hasRoom(source);
  }

  takeSession(source: string): void {
    this.sessions.count(source, 1);
  }

  releaseSession(source: string): void {
    this.sessions.count(source, -1);
    this.enterWaiting();
  }

  /** Counts one more or one fewer pending connection. */
  count(source: string, change: 1 | -1): void {
    this.pending.count(source, change);
    if (change === -1) this.enterWaiting();
  }
}

/** Places of which each source has a share: the fewer, the more others have, so that a few do not take all. */
class Places {
  taken = 0;
  private readonly places: number;
  private readonly share: number;
  private readonly bySource: Map<string, number> = new Map();

  constructor(places: number, share: number) {
    this.places = places;
    this.share = share;
  }

  hasRoom(source: string): boolean {
    if (this.taken >= this.places) return false;
    return source === NO_SOURCE || hasShare(this.bySource.get(source) ?? 0, this.taken, this.places, this.share);
  }

  count(source: string, change: 1 | -1): void {
    this.taken += change;
    if (source === NO_SOURCE) return;
    const own = (this.bySource.get(source) ?? 0) + change;
    if (own === 0) this.bySource.delete(source);
    else this.bySource.set(source, own);
  }
}

/** The source that limits count an address by. */
export function sourceIn(address: string | undefined): string {
  return address === undefined ? NO_SOURCE : sourceOf(address);
}

/** A connection, or one session of a connection that carries several. */
export class Visit {
  private readonly door: Door;
  private source: string;
  private readonly close: () => void;
  private deadline = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private isPending = false;
  private isSession = false;
  private over = false;
  /** Number of pending connections and sessions that this connection carries. */
  private carried = 0;
  private held: HeldReads | undefined = undefined;
  private gone: (() => void) | undefined = undefined;

  constructor(door: Door, source: string, close: () => void, within: number) {
    this.door = door;
    this.source = source;
    this.close = close;
    this.begin(within);
  }

  /** Sets the address that a balancer reported. Returns false if that address has no share left. */
  cameFrom(address: string): boolean {
    const source = sourceOf(address);
    if (!this.door.hasShare(source)) return false;
    const { source: previous } = this;
    this.source = source;
    this.door.count(source, 1);
    this.door.count(previous, -1);
    return true;
  }

  /** Milliseconds left until it must be a session. */
  get remainingMs(): number {
    return Math.max(1, this.deadline - performance.now());
  }

  /**
   * Milliseconds for a session that this connection carries: at most those of the connection itself, while that is
   * pending.
   */
  get carriedMs(): number {
    return this.isPending ? this.remainingMs : this.door.limits.maxHandshakeMs;
  }

  /**
   * Counts a session that this connection carries, which has its own deadline. Call the returned function when it ends.
   * A connection that carries none is pending.
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

  /** Sets the reads to hold back until the session is accepted or refused. */
  hold(held: HeldReads): void {
    this.held = held;
  }

  /** Lets `bytes` bytes through before that: the client's greeting. */
  greet(bytes: number): void {
    this.held?.pass(bytes);
  }

  /** The session waits for `authenticate`, which has `remainingMs`. */
  arrived(): void {
    clearTimeout(this.timer);
  }

  /** Calls `listener` when the connection has ended. */
  onGone(listener: () => void): void {
    if (this.over) listener();
    else this.gone = listener;
  }

  /** Admits the session if there is room, and returns whether there is. Its peer must then send its greeting. */
  admit(): boolean {
    // Another listener reports the end of its connection.
    if (this.over) return true;
    if (this.door.isFull(this.source)) return false;
    // The session itself closes where a peer does not greet, and says so.
    this.expireIn(this.door.limits.maxHandshakeMs + this.door.limits.maxCloseMs);
    this.releaseHeld();
    return true;
  }

  /**
   * The peer has sent its greeting. Counts the connection as a session and returns true if there still is room;
   * otherwise it must be closed.
   */
  greeted(): boolean {
    if (this.over) return true;
    if (this.door.isFull(this.source)) {
      this.expireIn(this.door.limits.maxCloseMs);
      return false;
    }
    this.door.takeSession(this.source);
    this.isSession = true;
    this.settled();
    return true;
  }

  /** Refuses the session, and leaves the peer some time to receive the reason. */
  refuse(): void {
    if (this.over) return;
    this.expireIn(this.door.limits.maxCloseMs);
    this.releaseHeld();
  }

  /** Ends the pending state: the connection is a session, or carries sessions. */
  settled(): void {
    clearTimeout(this.timer);
    if (!this.isPending) return;
    this.isPending = false;
    this.door.count(this.source, -1);
  }

  /** The connection has ended. */
  leave(): void {
    if (this.over) return;
    this.settled();
    this.over = true;
    if (this.isSession) this.door.releaseSession(this.source);
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
