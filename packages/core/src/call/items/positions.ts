import { cursorAt, type ItemCursor } from "../../contract/cursor.js";
import { RpcError } from "../../errors.js";

/** Follows the cursors of the items of one call, in order. */
export class Positions {
  /** The cursor of the last item, or the one that the call goes on after; undefined before the first. */
  last: string | undefined;
  private readonly cursor: ItemCursor;

  constructor(cursor: ItemCursor, from: string | undefined) {
    this.cursor = cursor;
    this.last = from;
  }

  /** Whether the item is the one that was last: a handler whose cursors are not exclusive sends it again. */
  repeats(item: unknown): boolean {
    return this.last !== undefined && cursorAt(item, this.cursor.field) === this.last;
  }

  /**
   * Goes on to `item`. Throws `RpcError` `data_loss`, `CURSOR_GAP`, where its predecessor is another item than the last, and `TypeError`
   * where it has no cursor or the same.
   */
  pass(item: unknown): string {
    const { field, predecessor } = this.cursor;
    const cursor = cursorAt(item, field);
    const { last } = this;
    if (cursor === undefined) throw new TypeError(`an item has no cursor in its field ${field}`);
    if (cursor === last) throw new TypeError(`two items have the cursor ${cursor}`);
    if (predecessor !== undefined && last !== undefined) {
      const before = cursorAt(item, predecessor);
      if (before !== last) throw gap(last, before);
    }
    this.last = cursor;
    return cursor;
  }
}

function gap(last: string, before: string | undefined): RpcError {
  const message = `items are missing after the cursor ${last}: the next follows ${before ?? "none"}`;
  return new RpcError("data_loss", message, {
    reason: "CURSOR_GAP",
    hint: "begin anew, without `from`",
  });
}
