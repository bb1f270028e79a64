import { RpcError } from "../errors.js";
import { MAX_CURSOR_LENGTH } from "../fixed-limits.js";

/** The option `cursor` of a schema: the name of the field that contains the cursor, or an object. */
export type CursorOption = string | ItemCursor;

/** Declares which fields of a stream's items contain cursors (positions in the stream). */
export interface ItemCursor {
  /**
   * Name of the field with the cursor of the item. The field is a string or an integer; in call options and contexts, a
   * cursor is always a string.
   */
  readonly field: string;
  /**
   * Name of the field with the cursor of the previous item. In the very first item, the field is absent or null. If
   * set, both sides report missing items as an error. Default: missing items are not detected.
   */
  readonly predecessor?: string | undefined;
}

/** Errors that every method with cursors declares automatically. */
export const CURSOR_ERRORS = {
  /**
   * The caller's cursor is invalid, or the handler no longer has the items after it: the caller must start from the
   * beginning.
   */
  CURSOR_EXPIRED: { code: "out_of_range" },
  /** Items are missing between two consecutively received items. */
  CURSOR_GAP: { code: "data_loss" },
} as const;

/** Converts the option `cursor` of a schema to an object. */
export function itemCursor(option: CursorOption): ItemCursor {
  return typeof option === "string" ? { field: option } : option;
}

/** Throws `RpcError` `invalid_argument` unless `from` is a valid cursor: a non-empty string of limited length. */
export function requireCursor(from: string): void {
  if (typeof from === "string" && from.length > 0 && from.length <= MAX_CURSOR_LENGTH) return;
  throw new RpcError("invalid_argument", `a cursor is a text of 1 to ${MAX_CURSOR_LENGTH} characters`, {
    refused: true,
  });
}
