import { expiries, type Expiry } from "./expiries.js";

/**
 * Initial limit of concurrent calls of a connection if the peer never announces its limit, as over plain HTTP. It
 * equals the servers' default for one client (`maxPrincipalCalls`). The limit grows as calls end.
 */
const CAUTIOUS_CALLS = 1024;

/**
 * Delay in milliseconds after which one more call is tried although no call has ended. Each further delay is twice as
 * long, up to `MAX_PROBE_MS`.
 */
const PROBE_MS = 100;
const MAX_PROBE_MS = 1600;

/**
 * Amount by which the limit grows each time that a call ends, after refusals have lowered it. Small, so that the peer
 * rarely has to refuse a call again.
 */
const GROWTH = 1 / 16;

interface CallsInProgress {
  /** Returns the number of calls in progress, including cancelled calls whose last frame has not arrived. */
  callsMade(): number;
}

/**
 * Limits the concurrent calls of one session to the number that the peer accepts. The connection keeps further calls in
 * its queue.
 */
export class CallPlaces {
  readonly #session: CallsInProgress;
  /** The limit of concurrent calls that the peer has announced; infinite if it has announced none. */
  #most: number;
  /** Current limit of concurrent calls: `#most`, reduced each time that the peer refuses a call. */
  #limit: number;
  /** Number of calls that may start without counting the calls in progress again. */
  #counted = 0;
  /** Starts the queued calls. While it is set, new calls have to wait behind the queued ones. */
  #onFree: (() => void) | undefined = undefined;
  /** Whether a call of `#onFree` is already scheduled. */
  #isResuming = false;
  #probe: Expiry | undefined = undefined;
  #probeMs = PROBE_MS;

  /** @param maxCalls the limit of concurrent calls that the peer has announced; undefined if the peer announces none */
  constructor(session: CallsInProgress, maxCalls: number | undefined) {
    this.#session = session;
    this.#limit = maxCalls ?? CAUTIOUS_CALLS;
    this.#most = maxCalls ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Reserves a place for a new call. Returns false if the session has reached its limit or earlier calls are queued.
   */
  take(): boolean {
    if (this.#counted === 0) this.#count();
    if (this.#counted === 0) return false;
    this.#counted--;
    return true;
  }

  #count(): void {
    const free = this.#onFree === undefined ? this.#limit - this.#session.callsMade() : 0;
    this.#counted = Math.max(0, Math.floor(free));
  }

  /** Sets the limit of concurrent calls that the peer has announced, and starts queued calls. */
  set(calls: number): void {
    this.#most = calls;
    this.#limit = calls;
    this.#counted = 0;
    this.onCallOver();
  }

  /**
   * Called when the peer has refused a call because too many calls are in progress. Lowers the limit, and calls
   * `resume` when another call ends. If no call ends, for example because all are long streams, calls `resume` after a
   * delay.
   */
  onRefused(resume: () => void): void {
    // A peer that has announced its limit refused the call because of its size, or because of other sessions.
    const fewer = this.#most === Number.POSITIVE_INFINITY ? 1 : this.#limit - 1;
    this.#limit = Math.min(this.#limit, Math.max(this.#session.callsMade(), fewer, 1));
    this.whenFree(resume);
  }

  /**
   * Calls `resume` once, soon after a call of this session has ended. If no call is in progress or the limit is only an
   * estimate, also calls it after a delay, to try one more call.
   */
  whenFree(resume: () => void): void {
    this.#onFree = resume;
    this.#counted = 0;
    if (this.#probe !== undefined) return;
    if (this.#limit === this.#most && this.#session.callsMade() > 0) return;
    this.#probe = expiries.add(this.#probeMs, () => {
      this.#probeMs = Math.min(this.#probeMs * 2, MAX_PROBE_MS);
      this.#probe = undefined;
      this.#resume(1);
    });
  }

  onCallOver(): void {
    if (this.#onFree === undefined) return;
    this.#probeMs = PROBE_MS;
    // The peer may accept more calls than when it refused one, so the limit grows slowly.
    this.#limit = Math.min(this.#limit + GROWTH, this.#most);
    this.#resume(0);
  }

  #resume(count: number): void {
    this.#endProbe();
    if (this.#onFree === undefined || this.#isResuming) return;
    this.#isResuming = true;
    const resume = (): void => {
      this.#isResuming = false;
      this.#endProbe();
      const onFree = this.#onFree;
      this.#onFree = undefined;
      this.#counted = count;
      onFree?.();
    };
    // Calls that end in the same turn of the event loop free their places together. Over HTTP/1.1, `fetch` reuses a
    // connection only in the next turn; for a call made before, it would open a new connection.
    if (this.#most === Number.POSITIVE_INFINITY) setTimeout(resume, 0);
    else queueMicrotask(resume);
  }

  #endProbe(): void {
    if (this.#probe !== undefined) expiries.remove(this.#probe);
    this.#probe = undefined;
  }
}
