import type { Attempt } from "../call/options.js";
import { young } from "../young.js";

/** Moves streams from sessions that drain to others, as soon as there are some. */
export class Moves<C extends object> {
  readonly #canMove: () => boolean;
  readonly #bySession: WeakMap<C, Set<Attempt>> = new WeakMap();
  /** Attempts on sessions that drain. */
  #leaving: Set<Attempt> | undefined = undefined;

  /** @param canMove whether there is a session that takes calls */
  constructor(canMove: () => boolean) {
    this.#canMove = canMove;
  }

  /** An attempt was made on `session`, which `draining` says the drain of. */
  made(session: C, draining: Promise<void>, attempt: Attempt): void {
    let attempts = this.#bySession.get(session);
    if (attempts === undefined) {
      const all = new Set<Attempt>();
      attempts = all;
      this.#bySession.set(session, all);
      void draining.then(() => {
        this.#leaving ??= new Set();
        for (const each of all) this.#leaving.add(each);
        this.start();
      });
    }
    const own = attempts;
    own.add(attempt);
    attempt.onOver = young(() => {
      own.delete(attempt);
      this.#leaving?.delete(attempt);
    });
    attempt.onMade();
  }

  /** There may be another session. */
  start(): void {
    const leaving = this.#leaving;
    if (leaving === undefined) return;
    for (const attempt of leaving) {
      if (!this.#canMove()) return;
      leaving.delete(attempt);
      attempt.onLeaving();
    }
  }
}
