import { expiries, type Expiry, reminders } from "../call/expiries.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { ErrorHook } from "./dispatch.js";
import type { Awaitable } from "./router.js";

/** Whoever asks to be let in: a session's peer, or an HTTP request's. */
export interface Applicant<Who> {
  readonly peer: Who;
  /** The text of the error where the time is over: "the session was not authenticated within …". */
  readonly late: () => string;
  readonly visit: {
    /** Milliseconds in which it must be decided. */
    readonly remainingMs: number;
    /** Calls `listener` once when nobody waits for the decision any more. */
    onGone(listener: () => void): void;
  };
}

/** Settings of `Authentications`. */
export interface AuthenticationSettings<Who, Context> {
  readonly authenticate: (peer: Who, signal: AbortSignal) => Awaitable<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
}

/**
 * The calls of `authenticate` of one server: `limits.maxAuthentications` at once, each from its beginning until it has settled,
 * whoever waits for it. Others wait for their turn, as long as they have time.
 */
export class Authentications<Who, Context> {
  /** Calls that have not settled. */
  running = 0;
  /** Running calls whose result is no longer awaited. */
  private outliving = 0;
  private readonly waiting: Set<() => void> = new Set();
  private readonly settings: AuthenticationSettings<Who, Context>;

  constructor(settings: AuthenticationSettings<Who, Context>) {
    this.settings = settings;
  }

  /** Returns the result of `authenticate`. Rejects with `deadline_exceeded` when the visit's time is over, `cancelled` when the peer is gone. */
  run({ peer, visit, late }: Applicant<Who>): Promise<Context> {
    const { authenticate, limits } = this.settings;
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      let reminder: Expiry | undefined;
      let begun = false;
      let over = false;
      const settled = (): void => {
        this.running--;
        if (over) this.outliving--;
        over = true;
        if (reminder !== undefined) reminders.remove(reminder);
        expiries.remove(timer);
        this.startNext();
      };
      const start = (): void => {
        begun = true;
        this.running++;
        // An exception becomes a rejection.
        const result = (async () => authenticate(peer, controller.signal))();
        result.finally(settled).then(resolve, reject);
      };
      const give = (error: RpcError): void => {
        if (over) return;
        over = true;
        expiries.remove(timer);
        this.waiting.delete(start);
        if (begun) {
          this.outliving++;
          reminder = this.remind();
        }
        controller.abort(error);
        reject(error);
      };
      const timer = expiries.add(visit.remainingMs, () => give(this.tooLate(late())));
      visit.onGone(() => give(new RpcError("cancelled", "the peer is gone")));
      if (over) return;
      if (this.running < limits.maxAuthentications) start();
      else this.waiting.add(start);
    });
  }

  private startNext(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    this.waiting.delete(next);
    next();
  }

  private tooLate(late: string): RpcError {
    const { maxAuthentications } = this.settings.limits;
    const crowd = this.running < maxAuthentications ? "" : `: ${this.running} others were (limits.maxAuthentications)`;
    return new RpcError("deadline_exceeded", late + crowd);
  }

  /** Reports calls that do not settle, so that they do not keep others out in silence. */
  private remind(): Expiry {
    const { limits, onError } = this.settings;
    const { maxOutliveMs } = limits;
    const text = `authenticate runs on ${maxOutliveMs} ms after nobody waits for it (limits.maxOutliveMs), and counts: its signal says when. There are ${this.outliving} such calls`;
    return reminders.add(maxOutliveMs, () => onError(new Error(text), { method: "authenticate" }));
  }
}
