import { expiries, type Expiry, reminders } from "../call/expiries.js";
import { RpcError } from "../errors.js";
import { FairQueue, type Queued, hasShare } from "../fair-queue.js";
import type { Limits } from "../limits.js";
import type { ErrorHook } from "./dispatch.js";
import type { Awaitable } from "./router.js";

/** Largest share of all places for one source, so that others find some free. */
const SOURCE_SHARE = 3 / 4;
/** Number of applicants that may wait per place. */
const WAITING_PER_PLACE = 16;

/** The peer of a session, or the sender of an HTTP request, that asks to be authenticated. */
export interface UnauthenticatedPeer<Who> {
  readonly peer: Who;
  /** Identifies the source, such as an address: sources take turns, so that one cannot keep others out. */
  readonly source: string;
  /** Text of the error if the time is over: "the session was not authenticated within …". */
  readonly late: () => string;
  readonly pending: {
    /** Milliseconds left for the decision. */
    readonly remainingMs: number;
    /** Calls `listener` once when the decision is no longer needed. */
    onGone(listener: () => void): void;
  };
}

/** Settings of `Authentications`. */
export interface AuthenticationSettings<Who, Context> {
  readonly authenticate: (peer: Who, signal: AbortSignal) => Awaitable<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
}

/** An applicant that waits for a place. */
interface Waiting {
  readonly start: () => void;
  readonly fail: (error: RpcError) => void;
}

/**
 * The calls of `authenticate` of one server, at most `limits.maxAuthentications` at once. Each counts until it has
 * settled, even if its peer has disconnected. Others wait for a place while their time lasts. Each source has a share
 * of the places, and sources take turns. If too many wait, the newest of the source with the most is refused.
 */
export class Authentications<Who, Context> {
  /** Calls that have not settled. */
  running = 0;
  /** Running calls whose result is no longer awaited. */
  private outliving = 0;
  /** Calls that have not settled, by source. */
  private readonly bySource: Map<string, number> = new Map();
  private readonly waiting: FairQueue<Waiting> = new FairQueue();
  private readonly settings: AuthenticationSettings<Who, Context>;

  constructor(settings: AuthenticationSettings<Who, Context>) {
    this.settings = settings;
  }

  /**
   * Returns the result of `authenticate`. Rejects with `deadline_exceeded` when its time is over, with `cancelled` if
   * the peer has disconnected, and with `resource_exhausted` if too many wait.
   */
  run({ peer, source, pending, late }: UnauthenticatedPeer<Who>): Promise<Context> {
    const { authenticate, limits } = this.settings;
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      let reminder: Expiry | undefined;
      let queued: Queued<Waiting> | undefined = undefined;
      let begun = false;
      let over = false;
      const settled = (): void => {
        this.count(source, -1);
        if (over) this.outliving--;
        over = true;
        if (reminder !== undefined) reminders.remove(reminder);
        expiries.remove(timer);
        this.startWaiting();
      };
      const start = (): void => {
        begun = true;
        this.count(source, 1);
        // An exception becomes a rejection.
        const result = (async () => authenticate(peer, controller.signal))();
        result.finally(settled).then(resolve, reject);
      };
      const fail = (error: RpcError): void => {
        if (over) return;
        over = true;
        expiries.remove(timer);
        if (queued !== undefined) this.waiting.remove(queued);
        if (begun) {
          this.outliving++;
          reminder = this.remind();
        }
        controller.abort(error);
        reject(error);
      };
      const timer = expiries.add(pending.remainingMs, () => fail(this.tooLate(late())));
      pending.onGone(() => fail(new RpcError("cancelled", "the peer is gone")));
      if (over) return;
      if (this.running < limits.maxAuthentications && this.hasShare(source)) {
        start();
        return;
      }
      queued = this.waiting.push(source, { start, fail });
      if (this.waiting.length > limits.maxAuthentications * WAITING_PER_PLACE) this.waiting.pop()?.fail(this.tooMany());
    });
  }

  private hasShare(source: string): boolean {
    const { maxAuthentications: places } = this.settings.limits;
    return hasShare(this.bySource.get(source) ?? 0, this.running, places, places * SOURCE_SHARE);
  }

  private count(source: string, change: 1 | -1): void {
    this.running += change;
    const own = (this.bySource.get(source) ?? 0) + change;
    if (own === 0) this.bySource.delete(source);
    else this.bySource.set(source, own);
  }

  private startWaiting(): void {
    while (this.running < this.settings.limits.maxAuthentications) {
      const next = this.waiting.shift((source) => this.hasShare(source));
      if (next === undefined) return;
      next.start();
    }
  }

  private tooLate(late: string): RpcError {
    const { maxAuthentications } = this.settings.limits;
    const crowd = this.running < maxAuthentications ? "" : `: ${this.running} others were (limits.maxAuthentications)`;
    return new RpcError("deadline_exceeded", late + crowd, { refused: true });
  }

  private tooMany(): RpcError {
    const { maxAuthentications } = this.settings.limits;
    const text = `too many wait to be authenticated: ${this.waiting.length + 1} (${WAITING_PER_PLACE} times limits.maxAuthentications, ${maxAuthentications})`;
    return new RpcError("resource_exhausted", text, { refused: true });
  }

  /** Reports calls that do not settle, because they keep others waiting. */
  private remind(): Expiry {
    const { limits, onError } = this.settings;
    const { handlerGraceMs } = limits;
    const text = `authenticate runs on ${handlerGraceMs} ms after nobody waits for it (limits.handlerGraceMs), and counts: its signal says when. There are ${this.outliving} such calls`;
    return reminders.add(handlerGraceMs, () => onError(new Error(text), { method: "authenticate" }));
  }
}
