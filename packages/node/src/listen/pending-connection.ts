import type { ConnectionLimiter, IdlePlace } from "./connection-limiter.js";
import type { HeldReads } from "./held-reads.js";

/** A connection, or one session of a connection that carries several, for as long as the limiter counts it. */
export class PendingConnection {
  private readonly limiter: ConnectionLimiter;
  readonly source: string;
  private readonly close: () => void;
  private deadline = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private isPending = false;
  private isSession = false;
  /** True if the connection was refused and will be closed after `maxCloseMs`. */
  private isClosing = false;
  private isOver = false;
  /** Number of pending connections and sessions that this connection carries. */
  private carried = 0;
  private heldReads: HeldReads | undefined = undefined;
  private requests = 0;
  private idle: IdlePlace | undefined = undefined;
  /** Time at which the last HTTP request ended (`performance.now()`). Only valid while the connection is idle. */
  idleSince = 0;
  private onEnd: (() => void) | undefined = undefined;

  constructor(limiter: ConnectionLimiter, source: string, close: () => void, within: number) {
    this.limiter = limiter;
    this.source = source;
    this.close = close;
    this.begin(within);
  }

  /** Milliseconds in which the connection must still be admitted. */
  get remainingMs(): number {
    return Math.max(1, this.deadline - performance.now());
  }

  /**
   * Time limit in milliseconds for the admission of a session on this connection. While the connection itself is
   * pending, this is the connection's remaining time.
   */
  get carriedMs(): number {
    return this.isPending ? this.remainingMs : this.limiter.limits.maxHandshakeMs;
  }

  /**
   * Counts a session that this connection carries. The session has its own time limit. Call the returned function when
   * the session ends. A connection without any session is pending again.
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

  /** Sets the reads that are held back until the session is accepted or refused. */
  hold(reads: HeldReads): void {
    this.heldReads = reads;
  }

  /**
   * Lets the first `bytes` bytes through while reads are held back, so that the server can read the client's greeting.
   */
  greet(bytes: number): void {
    this.heldReads?.pass(bytes);
  }

  /** Stops the connection's timer: `authenticate` is about to decide, within `remainingMs`. */
  arrived(): void {
    clearTimeout(this.timer);
  }

  /** Calls `listener` when the connection has ended, or at once if it has already ended. */
  onGone(listener: () => void): void {
    if (this.isOver) listener();
    else this.onEnd = listener;
  }

  /** Admits the session and starts the time limit for its greeting. Returns false if there is no room. */
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
   * Counts the connection as a session, after its peer has sent its greeting. Returns false if there is no room; the
   * caller must then close the session.
   */
  greeted(): boolean {
    if (this.isOver) return true;
    // A connection that was upgraded counts as a session since its first HTTP request.
    if (!this.isSession && !this.limiter.takeSession(this.source)) {
      this.closeSoon();
      return false;
    }
    this.isSession = true;
    this.settled();
    return true;
  }

  /**
   * Notes that an HTTP request has begun or that the connection is upgraded to another protocol. The connection is not
   * idle from then on.
   */
  requestBegan(): void {
    this.requests++;
    this.busy();
  }

  /**
   * Notes that an HTTP request has ended. A connection without other requests is idle, and may be closed to make room
   * for another.
   */
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

  /** Refuses the session. Closes the connection after `maxCloseMs`, so that the peer can receive the reason. */
  refuse(): void {
    if (this.isOver) return;
    this.closeSoon();
    this.releaseHeld();
  }

  /**
   * Ends the pending state of the connection and its time limit. The connection then is a session, or carries sessions.
   */
  settled(): void {
    clearTimeout(this.timer);
    this.isClosing = false;
    if (!this.isPending) return;
    this.isPending = false;
    this.limiter.count(this.source, -1);
  }

  /** Releases the connection's place after the connection has ended. */
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
   * Closes the connection after `maxCloseMs`. Repeated calls do not extend the time. Does nothing if the connection
   * carries sessions.
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
