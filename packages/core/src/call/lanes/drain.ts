import * as GoawayStage from "../../wire/goaway-stage.js";
import type { LaneHost } from "./peer-lane.js";

/**
 * Ends a session without failing calls. The draining side refuses new calls and announces that. The other side makes no
 * more calls, and reports when all of its calls are answered. Then no data is on its way, and the session can be
 * closed. The object exists only after one side has started to drain.
 */
export class Drain {
  /** Whether this side accepts no more calls. */
  refusing = false;
  /** Whether the peer accepts no more calls. */
  refused = false;
  readonly #host: LaneHost;
  #toldFinished = false;
  #peerFinished = false;

  private constructor(host: LaneHost) {
    this.#host = host;
  }

  /** Returns the drain of a session, and starts it if neither side has. */
  static of(host: LaneHost): Drain {
    if (host.drainage === undefined) {
      host.drainage = new Drain(host);
      host.onDraining();
    }
    return host.drainage;
  }

  /**
   * Reason why no call may be made; undefined if calls are allowed. A draining side may still make calls on behalf of
   * the calls that it serves.
   */
  get objection(): string | undefined {
    if (this.refused) return "the peer takes no more calls: it goes away";
    return this.refusing && this.#host.callee.calls === 0 ? "the session is being drained" : undefined;
  }

  start(): void {
    if (this.refusing) return;
    this.refusing = true;
    this.#host.goaway(GoawayStage.Refusing);
    this.check();
  }

  /** @param stage `Refusing` or `Finished` */
  onGoaway(stage: number): void {
    if (stage === GoawayStage.Finished) this.#peerFinished = true;
    else this.refused = true;
    this.check();
  }

  /** Must be called when a call is over. */
  check(): void {
    if (this.#host.callsMade() > 0) return;
    if (this.refused && !this.#toldFinished) {
      this.#toldFinished = true;
      this.#host.goaway(GoawayStage.Finished);
    }
    if (this.refusing && this.#peerFinished && this.#host.callee.calls === 0) this.#host.onDrained();
  }
}
