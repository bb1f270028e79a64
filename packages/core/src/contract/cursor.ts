import { RpcError } from "../errors.js";
import { MAX_CURSOR_LENGTH } from "../fixed-limits.js";

/** The cursor of a stream's items, as a schema declares it: the name of the field, or an object. */
export type CursorOption = string | ItemCursor;

/** Declares which fields of a stream's items contain cursors. */
export interface ItemCursor {
  /** Name of the field with the item's cursor: a string or an integer. Callers and handlers exchange cursors as strings. */
  readonly field: string;
  /**
   * Name of the field with the cursor of the previous item; absent or null in the first item of all. With it, both
   * sides report missing items as an error. Default: missing items are not detected.
   */
  readonly predecessor?: string | undefined;
}

/** Errors that every method with cursors declares. */
export const CURSOR_ERRORS = {
  /** The caller's cursor is invalid, or older than the items that the handler still has: the caller has to start again. */
  CURSOR_EXPIRED: { code: "out_of_range" },
  /** Items are missing between two received items. */
  CURSOR_GAP: { code: "data_loss" },
} as const;

/** Normalizes the `cursor` option of a schema. */
export function itemCursor(option: CursorOption): ItemCursor {
  return typeof option === "string" ? { field: option } : option;
}

/** Throws `RpcError` `invalid_argument` if `from` is not a cursor. */
export function requireCursor(from: string): void {
  if (typeof from === "string" && from.length > 0 && from.length <= MAX_CURSOR_LENGTH) return;
  throw new RpcError("invalid_argument", `a cursor is a text of 1 to ${MAX_CURSOR_LENGTH} characters`, {
    refused: true,
  });
}
