import { RpcError } from "../errors.js";
import { MAX_CURSOR_LENGTH } from "../fixed-limits.js";
import { type ItemCursor, requireCursor } from "./cursor.js";

/** The cursor of an item, as the value of its field. */
export type Position = string | number | bigint;

/** Returns true if `value` is a cursor: a string of bounded length, or an integer. */
export function isPosition(value: unknown): value is Position {
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
