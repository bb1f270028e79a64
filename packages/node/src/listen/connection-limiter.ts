import type { Limits } from "@quicrpc/core";
import { FairQueue, hasShare, type ListLink, LinkedSet } from "@quicrpc/core/internal";
import type { ListenTransportOptions } from "@quicrpc/quic";
import { PendingConnection } from "./pending-connection.js";
import { NO_SOURCE, Places, sourceIn } from "./places.js";

/** Default maximum number of concurrent sessions of a listener. */
const MAX_SESSIONS = 10_000;
/** Default maximum number of concurrent connections and sessions that the server has not admitted yet. */
const MAX_HANDSHAKES = 1_000;
/** Maximum share of `maxHandshakes` that one address may use. */
const ADDRESS_SHARE = 1 / 4;
/**
 * Number of connections that may wait for each of the `maxHandshakes` places. Applies to all addresses together and to
 * each address.
 */
const WAITING_PER_PLACE = 8;
/**
 * Maximum share of `maxSessions` that one address may use. It is large, because many clients may have the address of
 * one proxy or NAT.
 */
const SESSIONS_SHARE = 3 / 4;

/**
 * Minimum time in milliseconds since the last request after which the server may close an idle HTTP connection to make
 * room for another. A client whose connection was active more recently is likely to be sending its next request. Node's
 * HTTP servers use the same time.
 */
const MIN_IDLE_MS = 5_000;

/** Limits of a `ConnectionLimiter`. */
export interface ConnectionLimits {
  readonly maxSessions: number;
  /** Maximum number of sessions from one address while no other address has sessions. */
  readonly maxSessionsPerAddress: number;
  readonly maxHandshakes: number;
  readonly maxHandshakesPerAddress: number;
  readonly maxHandshakeMs: number;
  readonly maxCloseMs: number;
}

/** Returns the connection limits of a listener. Defaults are the same as in the QUIC engine. */
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

interface ArrivingConnection {
  /** Address of the peer. Undefined for a peer on this machine without an address, as with Unix sockets. */
  readonly address: string | undefined;
  /** Called when the connection was not admitted in time. Closes the connection. */
  readonly close: () => void;
  readonly onPlace: (pending: PendingConnection) => void;
  /** Called instead of `onPlace` if the limiter refuses the connection. */
  readonly refuse: () => void;
}

interface WaitingConnection extends ArrivingConnection {
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * Position of a connection in two lists of idle connections: the list of all connections and the list of its source
 * address.
 */
export interface IdlePlace {
  readonly link: ListLink<PendingConnection>;
  /** Idle connections of the same source. Undefined for a connection without an address. */
  readonly ofSource: LinkedSet<PendingConnection> | undefined;
  readonly linkOfSource: ListLink<PendingConnection> | undefined;
}

/**
 * Limits the connections and sessions of a listener, in total and for each address. A connection is pending until its
 * peer is authenticated and has sent its greeting, which must happen within a time limit. From then until it ends, it
 * counts as a session, or it carries several sessions. Connections that exceed the limit wait, and addresses take
 * turns.
 */
export class ConnectionLimiter {
  readonly limits: ConnectionLimits;
  private readonly sessions: Places;
  private readonly pending: Places;
  private readonly waiting: FairQueue<WaitingConnection> = new FairQueue();
  /**
   * Connections that count as sessions but have no HTTP request in progress, in the order in which they became idle.
   */
  private readonly idle: LinkedSet<PendingConnection> = new LinkedSet();

  constructor(limits: ConnectionLimits) {
    this.limits = limits;
    this.sessions = new Places(limits.maxSessions, limits.maxSessionsPerAddress);
    this.pending = new Places(limits.maxHandshakes, limits.maxHandshakesPerAddress);
  }

  /**
   * Counts a new pending connection and returns it, or returns undefined if there is no room. Calls `close` if it is
   * not admitted in time.
   * @param address undefined for a peer on this machine without an address
   * @param within time limit for the admission, in milliseconds
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
   * Accepts, queues or refuses a new connection. Calls `onPlace` with a pending connection at once, or later when there
   * is room. Calls `refuse` instead if
   * - `maxSessions` is reached,
   * - too many connections of the same address wait already,
   * - there was no room within `maxHandshakeMs`, or
   * - all connections together exceed `maxSessions` plus `maxHandshakes`, and this connection is the newest of the
   * address with the most waiting connections.
   * @returns a function that stops waiting
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

  /**
   * Counts a new session of a source. If the limit is reached, closes the connection that has been idle longest.
   * Returns false if no connection can be closed.
   */
  takeSession(source: string): boolean {
    if (!this.sessions.hasRoom(source)) {
      const idle = this.idleFor(source);
      if (idle === undefined) return false;
      idle.evict();
    }
    this.sessions.count(source, 1);
    return true;
  }

  /**
   * Adds a connection without requests in progress to the lists of idle connections. Returns its positions, which
   * `becameBusy` needs.
   */
  becameIdle(connection: PendingConnection): IdlePlace {
    const ofSource = this.sessions.idleOf(connection.source);
    return { link: this.idle.add(connection), ofSource, linkOfSource: ofSource?.add(connection) };
  }

  becameBusy({ link, ofSource, linkOfSource }: IdlePlace): void {
    this.idle.remove(link);
    if (linkOfSource !== undefined) ofSource?.remove(linkOfSource);
  }

  /**
   * Returns the idle connection to close so that this source gets room: one of its own connections, or one of any other
   * source if this source has not used up its share. Considers only the two connections that have been idle longest,
   * because this runs for each connection and each refused request.
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

  /** Adds `change` to the number of pending connections of a source. */
  count(source: string, change: 1 | -1): void {
    this.pending.count(source, change);
    if (change === -1) this.enterWaiting();
  }
}
