import type { Session } from "@quicrpc/core";

/** A session of a pool: counts the calls in progress, and tells what each came to. */
export class PooledSession<S extends Session> {
  readonly session: S;
  /** Calls in progress; notifications are over at once. */
  calls = 0;
  private readonly onOver: (error: unknown) => void;

  /** @param onOver called for each call that is over: with its error, or undefined when it went well */
  constructor(session: S, onOver: (error: unknown) => void) {
    this.session = session;
    this.onOver = onOver;
  }

  onCallOver(error: unknown): void {
    this.calls--;
    this.onOver(error);
  }
}
