import { Fifo } from "../fifo.js";
import { ownTurn } from "../own-turn.js";

/** Deliveries (each of up to 1 KiB) after which publishers and readers of history wait for the next turn of the event loop. */
const TURN_DELIVERIES = 2000;

/** Delays publishers and readers of history, so that other work gets its turn in the event loop. */
export class DeliveryPace {
  private left: number = TURN_DELIVERIES;
  private readonly waiting: Fifo<() => void> = new Fifo();

  /** Counts deliveries of a message of this many bytes. */
  count(deliveries: number, bytes: number): void {
    this.left -= deliveries * (1 + (bytes >>> 10));
  }

  /** Resolves when the caller may publish or read, in the order of the calls. Returns undefined if it may do so now. */
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
        this.left = TURN_DELIVERIES;
      }
      next();
      // The caller continues first, so that its deliveries are counted.
      await Promise.resolve();
      this.waiting.shift();
    }
  }
}
