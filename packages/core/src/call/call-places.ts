import { expiries, type Expiry } from "./expiries.js";

/**
 * Initial number of concurrent calls of a connection if the peer never announces its limit, as over plain HTTP. It
 * equals the servers' default for one client (`maxPrincipalCalls`). More are tried as calls end.
 */
const CAUTIOUS_CALLS = 1024;

/** Milliseconds after which one call more is tried if none has ended, doubled each time up to the second value. */
const PROBE_MS = 100;
const MAX_PROBE_MS = 1600;

/** How much the limit grows when a call ends after the peer has refused some. Small, so that few calls are refused again. */
const GROWTH = 1 / 16;

/** The calls of this side on one session. */
interface CallsInProgress {
  /** Calls that are not over, including cancelled ones whose last frame has not arrived. */
  callsMade(): number;
}

/** Counts how many more calls the peer of a session takes now, so that a connection keeps the rest in its queue. */
export class CallPlaces {
  readonly #session: CallsInProgress;
  /** The peer's limit of concurrent calls. */
  #most: number;
  /** The same, reduced by the peer's refusals. */
  #limit: number;
  /** Places that were free when calls were last counted, less those taken since. */
  #counted = 0;
  /** Starts the waiting calls. Until it is called, they precede every new call. */
  #onFree: (() => void) | undefined = undefined;
  /** `#onFree` is about to be called. */
  #isResuming = false;
  #probe: Expiry | undefined = undefined;
  #probeMs = PROBE_MS;

  /** @param most the peer's limit of concurrent calls, if it has announced it; undefined if it never does */
  constructor(session: CallsInProgress, most: number | undefined) {
    this.#session = session;
    this.#limit = most ?? CAUTIOUS_CALLS;
    this.#most = most ?? Number.POSITIVE_INFINITY;
  }

  /** Takes a place for a call that is about to be made; returns false if none is free, or an earlier call waits for it. */
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

  /** Sets the peer's limit of concurrent calls. */
  set(calls: number): void {
    this.#most = calls;
    this.#limit = calls;
    this.#counted = 0;
    this.onCallOver();
  }

  /**
   * Called when the peer has refused a call because it has too many. Calls `resume` when another call has ended; or
   * after a while if none ends, for example if a long stream is open or if other sessions have taken the places.
   */
  onRefused(resume: () => void): void {
    // A peer that has announced its limit refused the call because of its size, or because of other sessions.
    const fewer = this.#most === Number.POSITIVE_INFINITY ? 1 : this.#limit - 1;
    this.#limit = Math.min(this.#limit, Math.max(this.#session.callsMade(), fewer, 1));
    this.whenFree(resume);
  }

  /** Calls `resume` once, soon after a call has ended. If none may end, or the peer has refused calls, also after a while, with one place. */
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
    // The reason for a refusal may no longer apply, so occasionally one more call is tried.
    this.#limit = Math.min(this.#limit + GROWTH, this.#most);
    this.#resume(0);
  }

  #resume(places: number): void {
    this.#endProbe();
    if (this.#onFree === undefined || this.#isResuming) return;
    this.#isResuming = true;
    const resume = (): void => {
      this.#isResuming = false;
      this.#endProbe();
      const onFree = this.#onFree;
      this.#onFree = undefined;
      this.#counted = places;
      onFree?.();
    };
    // Calls that end in the same turn free their places together. Over HTTP/1.1 `fetch` uses a connection again in the next turn, and opens
    // a new one for a call that is made before.
    if (this.#most === Number.POSITIVE_INFINITY) setTimeout(resume, 0);
    else queueMicrotask(resume);
  }

  #endProbe(): void {
    if (this.#probe !== undefined) expiries.remove(this.#probe);
    this.#probe = undefined;
  }
}
