import { type ItemCursor, requireCursor } from "../../contract/cursor.js";
import { RpcError } from "../../errors.js";
import { MAX_CURSOR_LENGTH } from "../../fixed-limits.js";

/** The cursor of an item, as the value of its field. */
export type Position = string | number | bigint;

/** Returns true if `value` is a cursor: a string of bounded length, or an integer. */
function isPosition(value: unknown): value is Position {
  if (typeof value === "string") return value.length > 0 && value.length <= MAX_CURSOR_LENGTH;
  return Number.isSafeInteger(value) || typeof value === "bigint";
}

/** Throws `RpcError` if `method` has no cursors, so that its handler cannot continue after the cursor `from`. */
export function requirePositions(
  method: { readonly name: string; readonly cursor?: ItemCursor | undefined },
  from: string,
): void {
  requireCursor(from);
  if (method.cursor !== undefined) return;
  throw new RpcError("unimplemented", `the items of ${method.name} have no cursors here`, { refused: true });
}

/** Checks and remembers the cursors of a call's items, in order. They are converted to text only on demand. */
export class Positions {
  /**
   * The cursor of the last item, as the item contains it, or the one after which the call continues; undefined before
   * the first item.
   */
  position: Position | undefined;
  private readonly cursor: ItemCursor;

  constructor(cursor: ItemCursor, from: string | undefined) {
    this.cursor = cursor;
    this.position = from;
  }

  /** The same cursor as text. */
  get last(): string | undefined {
    return this.position === undefined ? undefined : String(this.position);
  }

  /** Returns true if the item is the last one again: a handler whose cursors are not exclusive repeats it. */
  repeats(item: unknown): boolean {
    return this.position !== undefined && isSame((item as Fields | undefined)?.[this.cursor.field], this.position);
  }

  /**
   * Advances to `item`. Throws `RpcError` `data_loss`, `CURSOR_GAP`, if the predecessor of the item is not the last
   * item, and `TypeError` if the item has no cursor or the same cursor as the last.
   */
  pass(item: unknown): Position {
    const { field, predecessor } = this.cursor;
    const next = (item as Fields | null | undefined)?.[field];
    const { position } = this;
    if (!isPosition(next)) throw new TypeError(`an item has no cursor in its field ${field}`);
    if (next === position) throw new TypeError(`two items have the cursor ${next}`);
    if (predecessor !== undefined && position !== undefined) {
      const before = (item as Fields)[predecessor];
      if (!isSame(before, position)) throw gap(position, before);
    }
    this.position = next;
    return next;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns true if two cursors are equal. The cursor after which a call continues is text, whatever the type of the
 * items' cursors.
 */
function isSame(a: unknown, b: Position): boolean {
  return a === b || (typeof a !== typeof b && isPosition(a) && String(a) === String(b));
}

function gap(last: Position, before: unknown): RpcError {
  const message = `items are missing after the cursor ${last}: the next follows ${isPosition(before) ? before : "none"}`;
  return new RpcError("data_loss", message, {
    reason: "CURSOR_GAP",
    hint: "start again, without `from`",
  });
}
