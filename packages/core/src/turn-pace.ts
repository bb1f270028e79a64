import { Fifo } from "./fifo.js";
import { ownTurn } from "./own-turn.js";

/** Limits the work that callers do in one turn of the event loop, so that it serves others in between. */
export class TurnPace {
  private readonly most: number;
  /** Units of work that are left in this turn; negative after more. */
  left: number;
  private readonly waiting: Fifo<() => void> = new Fifo();

  /** @param most units of work after which callers wait for the next turn; one unit is a message of up to 1 KiB */
  constructor(most: number) {
    this.most = most;
    this.left = most;
  }

  /** Counts the work for `messages` of `bytes` bytes each. */
  count(messages: number, bytes: number): void {
    this.left -= messages * (1 + (bytes >>> 10));
  }

  /** Resolves when the caller may continue, in the order of the calls. Returns undefined if it may do so now. */
  turn(): Promise<void> | undefined {
    if (this.left > 0 && this.waiting.length === 0) return undefined;
    const turn = new Promise<void>((resolve) => this.waiting.push(resolve));
    if (this.waiting.length === 1) void this.admit();
    return turn;
  }

  private async admit(): Promise<void> {
    for (let next = this.waiting.first; next !== undefined; next = this.waiting.first) {
      if (this.left <= 0) {
        await ownTurn();
        this.left = this.most;
      }
      next();
      // The caller continues first, and its work counts.
      await Promise.resolve();
      this.waiting.shift();
    }
  }
}
