import type { Awaitable } from "@quicrpc/core/generated";
import { type ErrorHook, type Limits, RpcError } from "@quicrpc/core";
import type { Admission } from "./listen/listener.js";
import type { Peer } from "./peer.js";

/** Decides who may have a session. The signal fires when the time for it is over, or the peer is known to be gone. */
export type Authenticate<Context> = (peer: Peer, signal: AbortSignal) => Awaitable<Context>;

/** A peer that is to be authenticated. */
interface Applicant {
  readonly peer: Peer;
  readonly visit: Admission;
}

/**
 * The calls of `authenticate` of one server: `limits.maxAuthentications` at once, each from its beginning until it has settled,
 * whoever waits for it. Others wait for their turn, as long as they have time.
 */
export class Authentications<Context> {
  /** Calls that have not settled. */
  running = 0;
  /** Running calls whose result is no longer awaited. */
  private outliving = 0;
  private readonly waiting: Set<() => void> = new Set();
  private readonly authenticate: Authenticate<Context>;
  private readonly limits: Limits;
  private readonly onError: ErrorHook;

  constructor(authenticate: Authenticate<Context>, limits: Limits, onError: ErrorHook) {
    this.authenticate = authenticate;
    this.limits = limits;
    this.onError = onError;
  }

  /** Returns the result of `authenticate`. Rejects with `deadline_exceeded` when the visit's time is over, `cancelled` when the peer is gone. */
  run({ peer, visit }: Applicant): Promise<Context> {
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      let reminder: ReturnType<typeof setTimeout> | undefined;
      let begun = false;
      let over = false;
      const settled = (): void => {
        this.running--;
        if (over) this.outliving--;
        over = true;
        clearTimeout(reminder);
        clearTimeout(timer);
        this.startNext();
      };
      const start = (): void => {
        begun = true;
        this.running++;
        // An exception becomes a rejection.
        const result = (async () => this.authenticate(peer, controller.signal))();
        result.finally(settled).then(resolve, reject);
      };
      const give = (error: RpcError): void => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        this.waiting.delete(start);
        if (begun) {
          this.outliving++;
          reminder = this.remind();
        }
        controller.abort(error);
        reject(error);
      };
      const timer = setTimeout(() => give(this.late()), visit.remainingMs);
      visit.onGone(() => give(new RpcError("cancelled", "the peer is gone")));
      if (over) return;
      if (this.running < this.limits.maxAuthentications) start();
      else this.waiting.add(start);
    });
  }

  private startNext(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    this.waiting.delete(next);
    next();
  }

  private late(): RpcError {
    const { maxHandshakeMs, maxAuthentications } = this.limits;
    const text = `the session was not authenticated within ${maxHandshakeMs} ms of its connection (limits.maxHandshakeMs)`;
    const crowd = this.running < maxAuthentications ? "" : `: ${this.running} others were (limits.maxAuthentications)`;
    return new RpcError("deadline_exceeded", text + crowd);
  }

  /** So that calls that never settle do not keep others out in silence. */
  private remind(): ReturnType<typeof setTimeout> {
    const { maxOutliveMs } = this.limits;
    const text = `authenticate runs on ${maxOutliveMs} ms after nobody waits for it (limits.maxOutliveMs), and counts: its signal says when. There are ${this.outliving} such calls`;
    return setTimeout(() => this.onError(new Error(text), { method: "authenticate" }), maxOutliveMs).unref();
  }
}
