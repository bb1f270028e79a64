import { itemSource, type ItemSource } from "./item-source.js";
import { bytePieces } from "./byte-pieces.js";
import type { Positions } from "./positions.js";

/** Tells the sender of items when it may continue. */
export interface ItemFlow {
  readonly ready: boolean;
  /** Calls `resume` once when `ready`; at the call's end as well, so that the sender can stop. */
  wait(resume: () => void): void;
}

/** Destination of the items of one side of a call. */
export interface ItemTarget {
  /** Whether nothing more can be sent. */
  readonly over: boolean;
  readonly flow: ItemFlow;
  /** Most bytes of an item, if items are raw bytes; otherwise undefined. */
  readonly rawPiece: number | undefined;
  /** Checks the cursors of items that have some. */
  readonly positions?: Positions | undefined;
  /** Called after each item. If it returns a promise, the next item waits for it. */
  turn?(): Promise<void> | undefined;
  /** Called when the source of the items has ended, whether or not the call has; possibly twice. */
  onSettled?(): void;
  /** Called once when the call ends before the items do. */
  onGivenUp: (() => void) | undefined;
  /** Sends an item. Throws if it cannot be sent. */
  item(item: unknown): void;
  end(): void;
  fail(error: unknown): void;
}

/** Sends all items of `given`, or of the value to which it resolves, as fast as the peer accepts them. Never rejects. */
export async function sendItems(target: ItemTarget, given: unknown): Promise<void> {
  let source: ItemSource | undefined;
  // Called at once, even while a `next` is pending; a generator runs its `finally` when that `next` settles.
  let leaving: Promise<void> | undefined;
  const stop = (): void => {
    leaving = source?.stop();
    void leaving?.then(() => target.onSettled?.());
  };
  target.onGivenUp = stop;
  try {
    source = itemSource(await given);
    if (target.rawPiece !== undefined) source = bytePieces(source, target.rawPiece);
    if (target.over) stop();
    while (!target.over) {
      const step = source.next();
      const { done, value } = "then" in step ? await step : step;
      if (done === true) break;
      if (!sendItem(target, value)) stop();
      else if (!target.flow.ready) await new Promise<void>((resolve) => target.flow.wait(resolve));
      const turn = target.turn?.();
      if (turn !== undefined) await turn;
    }
    if (leaving === undefined) target.onSettled?.();
    target.end();
  } catch (error) {
    target.onSettled?.();
    target.fail(error);
  }
}

/** Sends an item. Returns false if that fails; the call has then failed. */
function sendItem(target: ItemTarget, item: unknown): boolean {
  try {
    target.positions?.pass(item);
    target.item(item);
    return true;
  } catch (error) {
    target.fail(error);
    return false;
  }
}
