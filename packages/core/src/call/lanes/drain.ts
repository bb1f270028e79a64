import * as GoawayStage from "../../wire/goaway-stage.js";
import type { LaneHost } from "./peer-lane.js";

/**
 * Closes a session gracefully. The draining side refuses new calls and tells the peer. The peer makes no more calls,
 * and reports when all of its calls are complete; then the session can be closed without losing data. The object exists
 * only after one side has started to drain.
 */
export class Drain {
  /** True if this side is draining and refuses new calls. */
  refusing = false;
  /** True if the peer is draining and refuses new calls. */
  refused = false;
  readonly #host: LaneHost;
  #toldFinished = false;
  #peerFinished = false;

  private constructor(host: LaneHost) {
    this.#host = host;
  }

  /**
   * Returns the `Drain` object of a session. Creates it, and calls `onDraining`, if neither side has started to drain.
   */
  static of(host: LaneHost): Drain {
    if (host.drainage === undefined) {
      host.drainage = new Drain(host);
      host.onDraining();
    }
    return host.drainage;
  }

  /**
   * Reason why this side may not make a call; undefined if it may. A draining side may still make calls while it serves
   * calls, because their handlers may need them.
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

  /**
   * Handles the peer's goaway frame.
   *
   * @param stage `Refusing`: the peer refuses new calls; `Finished`: all calls of the peer are complete
   */
  onGoaway(stage: number): void {
    if (stage === GoawayStage.Finished) this.#peerFinished = true;
    else this.refused = true;
    this.check();
  }

  /** Checks whether the drain is complete. Called each time that a call ends. */
  check(): void {
    if (this.#host.callsMade() > 0) return;
    if (this.refused && !this.#toldFinished) {
      this.#toldFinished = true;
      this.#host.goaway(GoawayStage.Finished);
    }
    if (this.refusing && this.#peerFinished && this.#host.callee.calls === 0) this.#host.onDrained();
  }
}
