import { type ItemCursor, requireCursor } from "../../contract/cursor.js";
import { RpcError } from "../../errors.js";
import { MAX_CURSOR_LENGTH } from "../../fixed-limits.js";

/** The cursor of an item, in the type of the item's field. */
export type Position = string | number | bigint;

function isPosition(value: unknown): value is Position {
  if (typeof value === "string") return value.length > 0 && value.length <= MAX_CURSOR_LENGTH;
  return Number.isSafeInteger(value) || typeof value === "bigint";
}

/**
 * Throws `RpcError` if a stream of `method` cannot continue after the cursor `from`: `invalid_argument` if `from` is
 * not a cursor, `unimplemented` if the method has no cursors.
 */
export function requirePositions(
  method: { readonly name: string; readonly cursor?: ItemCursor | undefined },
  from: string,
): void {
  requireCursor(from);
  if (method.cursor !== undefined) return;
  throw new RpcError("unimplemented", `the items of ${method.name} have no cursors here`, { refused: true });
}

/** Checks the cursors of a call's items in their order, and stores the last one. */
export class Positions {
  /**
   * Cursor of the last item, in the type of the item's field. Before the first item: the cursor after which the call
   * continues, or undefined.
   */
  position: Position | undefined;
  private readonly cursor: ItemCursor;

  constructor(cursor: ItemCursor, from: string | undefined) {
    this.cursor = cursor;
    this.position = from;
  }

  /** Cursor of the last item as a string; undefined if there is none. */
  get last(): string | undefined {
    return this.position === undefined ? undefined : String(this.position);
  }

  /**
   * Returns true if `item` has the same cursor as the last item. A handler may send that item again when a stream
   * continues.
   */
  repeats(item: unknown): boolean {
    return this.position !== undefined && isSame((item as Fields | undefined)?.[this.cursor.field], this.position);
  }

  /**
   * Checks the cursor of the next item and stores it. Throws `RpcError` `data_loss` with the reason `CURSOR_GAP` if
   * items are missing before `item`, and `TypeError` if it has no cursor or the same cursor as the last item.
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
 * Returns true if two cursors are equal. A string equals a number with the same digits, because the option `from` is
 * always a string.
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
