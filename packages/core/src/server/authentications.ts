import { expiries, type Expiry, reminders } from "../call/expiries.js";
import { RpcError } from "../errors.js";
import { FairQueue, type Queued, hasShare } from "../fair-queue.js";
import type { Limits } from "../limits.js";
import type { ErrorHook } from "./dispatch.js";
import type { Awaitable } from "./router.js";

/** Maximum fraction of the concurrent authentications that one source may use. */
const SOURCE_SHARE = 3 / 4;
/** Number of peers that may wait, for each permitted concurrent authentication. */
const WAITING_PER_PLACE = 16;

/** A peer that waits for authentication: of a session, or the sender of an HTTP request. */
export interface UnauthenticatedPeer<Who> {
  readonly peer: Who;
  /**
   * Identifies the source of the peer, such as its address. Sources take turns, so that one cannot block the others.
   */
  readonly source: string;
  /**
   * Returns the error message if authentication takes too long, such as "the session was not authenticated within …".
   */
  readonly timeoutMessage: () => string;
  readonly pending: {
    readonly remainingMs: number;
    /** Calls `listener` once when the peer disconnects, so that the result is no longer needed. */
    onGone(listener: () => void): void;
  };
}

export interface AuthenticationSettings<Who, Context> {
  readonly authenticate: (peer: Who, signal: AbortSignal) => Awaitable<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
}

interface Waiting {
  readonly start: () => void;
  readonly fail: (error: RpcError) => void;
}

/**
 * Runs the `authenticate` calls of one server, at most `limits.maxAuthentications` at once. A call counts until it has
 * settled, even if its peer has disconnected. Further peers wait in a queue; sources take turns, and each may use only
 * a part of the concurrent calls. If too many peers wait, the newest one of the source with the most waiting peers is
 * refused.
 */
export class Authentications<Who, Context> {
  /** Number of `authenticate` calls that have not settled. */
  running = 0;
  /** Number of running `authenticate` calls whose result is no longer needed. */
  private outliving = 0;
  private readonly bySource: Map<string, number> = new Map();
  private readonly waiting: FairQueue<Waiting> = new FairQueue();
  private readonly settings: AuthenticationSettings<Who, Context>;

  constructor(settings: AuthenticationSettings<Who, Context>) {
    this.settings = settings;
  }

  /**
   * Calls `authenticate`, possibly after waiting, and returns its result. Rejects with `RpcError`: `deadline_exceeded`
   * if it takes too long, `cancelled` if the peer has disconnected, `resource_exhausted` if too many peers wait.
   */
  run({ peer, source, pending, timeoutMessage }: UnauthenticatedPeer<Who>): Promise<Context> {
    const { authenticate, limits } = this.settings;
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      let reminder: Expiry | undefined;
      let queued: Queued<Waiting> | undefined = undefined;
      let hasBegun = false;
      let isOver = false;
      const settled = (): void => {
        this.count(source, -1);
        if (isOver) this.outliving--;
        isOver = true;
        if (reminder !== undefined) reminders.remove(reminder);
        expiries.remove(timer);
        this.startWaiting();
      };
      const start = (): void => {
        hasBegun = true;
        this.count(source, 1);
        // The async function converts an exception to a rejection.
        const result = (async () => authenticate(peer, controller.signal))();
        result.finally(settled).then(resolve, reject);
      };
      const rejectWith = (error: RpcError): void => {
        if (isOver) return;
        isOver = true;
        expiries.remove(timer);
        if (queued !== undefined) this.waiting.remove(queued);
        if (hasBegun) {
          this.outliving++;
          reminder = this.remind();
        }
        controller.abort(error);
        reject(error);
      };
      const timer = expiries.add(pending.remainingMs, () => rejectWith(this.tooLate(timeoutMessage())));
      pending.onGone(() => rejectWith(new RpcError("cancelled", "the peer is gone")));
      if (isOver) return;
      if (this.running < limits.maxAuthentications && this.hasShare(source)) {
        start();
        return;
      }
      queued = this.waiting.push(source, { start, fail: rejectWith });
      if (this.waiting.length > limits.maxAuthentications * WAITING_PER_PLACE) this.waiting.pop()?.fail(this.tooMany());
    });
  }

  private hasShare(source: string): boolean {
    const { maxAuthentications: places } = this.settings.limits;
    return hasShare(this.bySource.get(source) ?? 0, this.running, places, places * SOURCE_SHARE);
  }

  private count(source: string, change: 1 | -1): void {
    this.running += change;
    const count = (this.bySource.get(source) ?? 0) + change;
    if (count === 0) this.bySource.delete(source);
    else this.bySource.set(source, count);
  }

  private startWaiting(): void {
    while (this.running < this.settings.limits.maxAuthentications) {
      const next = this.waiting.shift((source) => this.hasShare(source));
      if (next === undefined) return;
      next.start();
    }
  }

  private tooLate(message: string): RpcError {
    const { maxAuthentications } = this.settings.limits;
    const queueText =
      this.running < maxAuthentications ? "" : `: ${this.running} others were (limits.maxAuthentications)`;
    return new RpcError("deadline_exceeded", message + queueText, { refused: true });
  }

  private tooMany(): RpcError {
    const { maxAuthentications } = this.settings.limits;
    const text = `too many wait to be authenticated: ${this.waiting.length + 1} (${WAITING_PER_PLACE} times limits.maxAuthentications, ${maxAuthentications})`;
    return new RpcError("resource_exhausted", text, { refused: true });
  }

  /**
   * Reports an `authenticate` call to `onError` if it does not settle within `limits.handlerGraceMs` although its
   * result is no longer needed.
   */
  private remind(): Expiry {
    const { limits, onError } = this.settings;
    const { handlerGraceMs } = limits;
    const text = `authenticate is still running ${handlerGraceMs} ms after its connection ended (limits.handlerGraceMs), and counts until it settles: stop its work when its signal aborts. Such calls: ${this.outliving}`;
    return reminders.add(handlerGraceMs, () => onError(new Error(text), { method: "authenticate" }));
  }
}
