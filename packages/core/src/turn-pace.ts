import { FairQueue } from "./fair-queue.js";

const { setImmediate } = globalThis as { readonly setImmediate?: (act: () => void) => unknown };

/** Runs `act` in a later turn of the event loop, after the events that are ready now. */
export const immediate: (act: () => void) => void = setImmediate ?? ((act) => void setTimeout(act, 0));

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves in a later turn of the event loop, and in a different one for each caller. */
export function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>((resolve) => immediate(resolve)));
  return lastTurn;
}

/** Limits the work that callers do in one turn of the event loop, so that it serves others in between. */
export class TurnPace {
  private readonly most: number;
  /** Units of work that are left in this turn; negative after more. */
  left: number;
  private readonly waiting: FairQueue<() => void, unknown> = new FairQueue();
  private admitting = false;

  /** @param most units of work after which callers wait for the next turn; one unit is a message of up to 1 KiB */
  constructor(most: number) {
    this.most = most;
    this.left = most;
  }

  count(messages: number, bytes: number): void {
    this.left -= messages * (1 + (bytes >>> 10));
  }

  /**
   * Resolves when the caller may continue. Returns undefined if it may do so now. Those who wait continue in the order
   * of their calls, except that sources take turns.
   *
   * @param source on whose behalf the caller works. Default: one for all callers
   */
  turn(source?: unknown): Promise<void> | undefined {
    if (this.left > 0 && !this.admitting) return undefined;
    const turn = new Promise<void>((resolve) => this.waiting.push(source, resolve));
    if (!this.admitting) void this.admit();
    return turn;
  }

  private async admit(): Promise<void> {
    this.admitting = true;
    while (this.waiting.length > 0) {
      if (this.left <= 0) {
        await ownTurn();
        this.left = this.most;
      }
      this.waiting.shift()?.();
      // The caller continues first, and its work counts.
      await Promise.resolve();
    }
    this.admitting = false;
  }
}
