import type { Limits } from "@quicrpc/core";
import { FairQueue, hasShare, type Link, LinkedSet } from "@quicrpc/core/internal";
import type { ListenTransportOptions } from "@quicrpc/quic";
import type { HeldReads } from "./held-reads.js";
import { NO_SOURCE, Places, sourceIn } from "./places.js";

/** Default maximum number of concurrent sessions of a listener. */
const MAX_SESSIONS = 10_000;
/** Default maximum number of concurrent connections and sessions that are not admitted yet. */
const MAX_HANDSHAKES = 1_000;
/** Share of `maxHandshakes` that one address may use. */
const ADDRESS_SHARE = 1 / 4;
/** Number of connections that may wait for each place of `maxHandshakes`, in total and for each address. */
const WAITING_PER_PLACE = 8;
/**
 * Share of `maxSessions` that one address may use. It is large, because a proxy or NAT has one address for many
 * clients.
 */
const SESSIONS_SHARE = 3 / 4;

/**
 * Milliseconds without a request after which an HTTP connection may be closed to make room. The client of a connection that is
 * closed earlier is likely to be sending its next request. Node's own servers close connections after the same time.
 */
const MIN_IDLE_MS = 5_000;

/** Limits of a `ConnectionLimiter`. */
export interface ConnectionLimits {
  readonly maxSessions: number;
  /** Maximum number of sessions of one address, if no other address has any. */
  readonly maxSessionsPerAddress: number;
  readonly maxHandshakes: number;
  readonly maxHandshakesPerAddress: number;
  readonly maxHandshakeMs: number;
  readonly maxCloseMs: number;
}

/** Returns the limits of a listener. The defaults are the QUIC engine's. */
export function connectionLimits(transport: ListenTransportOptions | undefined, limits: Limits): ConnectionLimits {
  const { maxSessions = MAX_SESSIONS, maxHandshakes = MAX_HANDSHAKES } = transport ?? {};
  const share = transport?.maxHandshakesPerAddress ?? Math.ceil(maxHandshakes * ADDRESS_SHARE);
  const perAddress = transport?.maxSessionsPerAddress ?? Math.ceil(maxSessions * SESSIONS_SHARE);
  return {
    maxSessions,
    maxSessionsPerAddress: perAddress === 0 ? Infinity : perAddress,
    maxHandshakes,
    maxHandshakesPerAddress: share,
    maxHandshakeMs: limits.maxHandshakeMs,
    maxCloseMs: limits.maxCloseMs,
  };
}

/** A connection that needs a place. */
interface ArrivingConnection {
  /** Undefined for a peer on this machine that has no address. */
  readonly address: string | undefined;
  /** Closes the connection after its time is over. */
  readonly close: () => void;
  readonly onPlace: (pending: PendingConnection) => void;
  /** Called if the connection gets no place. */
  readonly refuse: () => void;
}

interface WaitingConnection extends ArrivingConnection {
  readonly timer: ReturnType<typeof setTimeout>;
}

/** The position of a connection among idle ones: all, and those of its source. */
interface IdlePlace {
  readonly link: Link<PendingConnection>;
  /** Undefined for a connection without an address. */
  readonly ofSource: LinkedSet<PendingConnection> | undefined;
  readonly linkOfSource: Link<PendingConnection> | undefined;
}

/**
 * Limits the connections and sessions of a listener. A connection is pending, for a limited time and within its address's
 * share, until its peer is authenticated and has sent its greeting. From then until it ends, it counts as a session, or
 * carries sessions. Connections without a place wait for one, and their addresses take turns.
 */
export class ConnectionLimiter {
  readonly limits: ConnectionLimits;
  private readonly sessions: Places;
  private readonly pending: Places;
  private readonly waiting: FairQueue<WaitingConnection> = new FairQueue();
  /** Connections that hold a session's place and have no request in progress. The first has been idle longest. */
  private readonly idle: LinkedSet<PendingConnection> = new LinkedSet();

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
    this.sessions = new Places(limits.maxSessions, limits.maxSessionsPerAddress);
    this.pending = new Places(limits.maxHandshakes, limits.maxHandshakesPerAddress);
  }

  /**
   * Returns a pending connection, or undefined if there is no room. Calls `close` when its time is over.
   * @param address undefined for a peer on this machine without an address
   * @param within milliseconds in which it must be admitted
   */
  reserve(
    address: string | undefined,
    close: () => void,
    within: number = this.limits.maxHandshakeMs,
  ): PendingConnection | undefined {
    const source = sourceIn(address);
    if (this.isFull(source) || !this.pending.hasRoom(source)) return undefined;
    return new PendingConnection(this, source, close, within);
  }

  /**
   * Calls `onPlace` with a pending connection, at once or when there is room. Calls `refuse` instead if `maxSessions` is
   * reached, if the address has its share of waiting connections, if there was no room within `maxHandshakeMs`, or if all
   * connections together exceed `maxSessions` plus `maxHandshakes` and this is the newest one of the address with the most
   * waiting connections.
   * @returns a function that ends the wait
   */
  arrive(connection: ArrivingConnection): () => void {
    const { maxSessions, maxHandshakes } = this.limits;
    const source = sourceIn(connection.address);
    const pending = this.reserve(connection.address, connection.close);
    let cancelWait = (): void => {};
    if (pending !== undefined) connection.onPlace(pending);
    else if (this.isFull(source) || !this.mayWait(source)) connection.refuse();
    else cancelWait = this.enqueue(connection, source);
    if (this.sessions.inUse + this.pending.inUse + this.waiting.length > maxSessions + maxHandshakes)
      this.refuseNewest();
    return cancelWait;
  }

  /** Returns true if the source may have one more waiting connection. */
  private mayWait(source: string): boolean {
    if (source === NO_SOURCE) return true;
    const { maxHandshakes, maxHandshakesPerAddress } = this.limits;
    const { waiting } = this;
    const share = maxHandshakesPerAddress * WAITING_PER_PLACE;
    return hasShare(waiting.lengthOf(source), waiting.length, maxHandshakes * WAITING_PER_PLACE, share);
  }

  private enqueue(connection: ArrivingConnection, source: string): () => void {
    const timer = setTimeout(() => {
      this.waiting.remove(queued);
      connection.refuse();
    }, this.limits.maxHandshakeMs).unref();
    const queued = this.waiting.push(source, { ...connection, timer });
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

  /** Gives places to waiting connections, as far as there is room. */
  private enterWaiting(): void {
    while (this.waiting.length > 0 && this.pending.inUse < this.limits.maxHandshakes) {
      const next = this.waiting.shift((source) => !this.isFull(source) && this.pending.hasRoom(source));
      if (next === undefined) return;
      clearTimeout(next.timer);
      const pending = this.reserve(next.address, next.close);
      if (pending !== undefined) next.onPlace(pending);
    }
  }

  /**
   * Returns true if the maximum number of sessions is reached, in total or for a source, and closing an idle connection
   * would not make room.
   */
  isFull(source: string): boolean {
    return !this.sessions.hasRoom(source) && this.idleFor(source) === undefined;
  }

  /** Takes a place, and closes the connection that has been idle longest if there is no other. Returns false if there is none. */
  takeSession(source: string): boolean {
    if (!this.sessions.hasRoom(source)) {
      const idle = this.idleFor(source);
      if (idle === undefined) return false;
      idle.evict();
    }
    this.sessions.count(source, 1);
    return true;
  }

  /** Notes that a connection has no request in progress. Returns the argument of `becameBusy`. */
  becameIdle(connection: PendingConnection): IdlePlace {
    const ofSource = this.sessions.idleOf(connection.source);
    return { link: this.idle.add(connection), ofSource, linkOfSource: ofSource?.add(connection) };
  }

  becameBusy({ link, ofSource, linkOfSource }: IdlePlace): void {
    this.idle.remove(link);
    if (linkOfSource !== undefined) ofSource?.remove(linkOfSource);
  }

  /**
   * Returns the connection that has been idle longest of those whose end gives the source room: all of its own, and
   * those of other sources while it has not used up its share. Looks at two connections only, because each connection
   * and each refused request calls it.
   */
  private idleFor(source: string): PendingConnection | undefined {
    const latest = performance.now() - MIN_IDLE_MS;
    const oldest = this.idle.first?.value;
    if (oldest === undefined || oldest.idleSince > latest) return undefined;
    if (oldest.source === source || this.sessions.hasRoom(source, 1)) return oldest;
    const idleOfSource = this.sessions.idleOf(source)?.first?.value;
    return idleOfSource === undefined || idleOfSource.idleSince > latest ? undefined : idleOfSource;
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

/** A connection, or one session of a connection that carries several. */
export class PendingConnection {
  private readonly limiter: ConnectionLimiter;
  readonly source: string;
  private readonly close: () => void;
  private deadline = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private isPending = false;
  private isSession = false;
  /** It was refused, and is closed after `maxCloseMs`. */
  private isClosing = false;
  private isOver = false;
  /** Number of pending connections and sessions that this connection carries. */
  private carried = 0;
  private heldReads: HeldReads | undefined = undefined;
  /** Number of HTTP requests in progress. */
  private requests = 0;
  private idle: IdlePlace | undefined = undefined;
  /** When the last request ended; meaningful while the connection is idle. */
  idleSince = 0;
  private onEnd: (() => void) | undefined = undefined;

  constructor(limiter: ConnectionLimiter, source: string, close: () => void, within: number) {
    this.limiter = limiter;
    this.source = source;
    this.close = close;
    this.begin(within);
  }

  /** Milliseconds left until it must be a session. */
  get remainingMs(): number {
    return Math.max(1, this.deadline - performance.now());
  }

  /** Milliseconds for a session that this connection carries: at most the connection's own time, while the connection is pending. */
  get carriedMs(): number {
    return this.isPending ? this.remainingMs : this.limiter.limits.maxHandshakeMs;
  }

  /**
   * Counts a session that this connection carries, which has its own deadline. Call the returned function when it ends.
   * A connection that carries none is pending.
   */
  carry(): () => void {
    this.carried++;
    clearTimeout(this.timer);
    return () => {
      if (--this.carried > 0 || this.isOver) return;
      if (this.isPending) this.expireIn(this.remainingMs);
      else this.begin(this.limiter.limits.maxHandshakeMs);
    };
  }

  /** Sets the reads to hold back until the session is accepted or refused. */
  hold(reads: HeldReads): void {
    this.heldReads = reads;
  }

  /** Lets `bytes` bytes through before that: the client's greeting. */
  greet(bytes: number): void {
    this.heldReads?.pass(bytes);
  }

  /** The session waits for `authenticate`, which has `remainingMs`. */
  arrived(): void {
    clearTimeout(this.timer);
  }

  /** Calls `listener` when the connection has ended. */
  onGone(listener: () => void): void {
    if (this.isOver) listener();
    else this.onEnd = listener;
  }

  /** Admits the session if there is room, and returns whether there is. Its peer must then send its greeting. */
  admit(): boolean {
    // Another listener reports the end of its connection.
    if (this.isOver) return true;
    if (!this.isSession && this.limiter.isFull(this.source)) return false;
    // If the peer sends no greeting, the session closes itself with a reason.
    this.expireIn(this.limiter.limits.maxHandshakeMs + this.limiter.limits.maxCloseMs);
    this.releaseHeld();
    return true;
  }

  /**
   * The peer has sent its greeting. Counts the connection as a session and returns true if there still is room;
   * otherwise it must be closed.
   */
  greeted(): boolean {
    if (this.isOver) return true;
    // It counts from its first HTTP request on, if it was upgraded later.
    if (!this.isSession && !this.limiter.takeSession(this.source)) {
      this.closeSoon();
      return false;
    }
    this.isSession = true;
    this.settled();
    return true;
  }

  /** An HTTP request has begun, or the connection was upgraded. */
  requestBegan(): void {
    this.requests++;
    this.busy();
  }

  /** An HTTP request is over. While there is no other, the connection is closed if its place is needed. */
  requestEnded(): void {
    if (--this.requests > 0 || !this.isSession || this.isOver) return;
    this.idleSince = performance.now();
    this.idle = this.limiter.becameIdle(this);
  }

  /** Closes the connection and releases its place at once. */
  evict(): void {
    this.ended();
    this.close();
  }

  private busy(): void {
    if (this.idle !== undefined) this.limiter.becameBusy(this.idle);
    this.idle = undefined;
  }

  /** Refuses the session, and leaves the peer some time to receive the reason. */
  refuse(): void {
    if (this.isOver) return;
    this.closeSoon();
    this.releaseHeld();
  }

  /** Ends the pending state: the connection is a session, or carries sessions. */
  settled(): void {
    clearTimeout(this.timer);
    this.isClosing = false;
    if (!this.isPending) return;
    this.isPending = false;
    this.limiter.count(this.source, -1);
  }

  /** The connection has ended. */
  ended(): void {
    if (this.isOver) return;
    this.settled();
    this.busy();
    this.isOver = true;
    if (this.isSession) this.limiter.releaseSession(this.source);
    this.onEnd?.();
  }

  private begin(ms: number): void {
    this.isPending = true;
    this.limiter.count(this.source, 1);
    this.deadline = performance.now() + ms;
    this.expireIn(ms);
  }

  private expireIn(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.close, ms).unref();
  }

  /**
   * Closes the connection after `maxCloseMs`, however often it is refused again until then. A connection that carries
   * sessions stays open for them.
   */
  private closeSoon(): void {
    if (this.isClosing || this.carried > 0) return;
    this.isClosing = true;
    this.expireIn(this.limiter.limits.maxCloseMs);
  }

  private releaseHeld(): void {
    this.heldReads?.release();
    this.heldReads = undefined;
  }
}
