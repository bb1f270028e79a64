import { RpcError } from "../errors.js";
import { MAX_CURSOR_LENGTH } from "../fixed-limits.js";

/** Where the items of a stream have their cursors, as a schema says it: the name of the field, or more. */
export type CursorOption = string | ItemCursor;

/** Where the items of a stream have their cursors. */
export interface ItemCursor {
  /** The field with the item's cursor: text, or an integer. Callers and handlers exchange cursors as text. */
  readonly field: string;
  /**
   * The field with the cursor of the item before, which the first item of all has not, or has as null. With it a gap is an error on both
   * sides, wherever items were lost. Default: gaps are not looked for.
   */
  readonly predecessor?: string | undefined;
}

/** Errors that every method declares whose items have cursors. */
export const CURSOR_ERRORS = {
  /** The caller's cursor is older than what the handler still has, or is none: the caller has to begin anew. */
  CURSOR_EXPIRED: { code: "out_of_range" },
  /** Items are missing between two that followed each other. */
  CURSOR_GAP: { code: "data_loss" },
} as const;

/** One form of what a schema says of cursors. */
export function itemCursor(option: CursorOption): ItemCursor {
  return typeof option === "string" ? { field: option } : option;
}

/** Throws `RpcError` `invalid_argument` for what is no cursor. */
export function requireCursor(from: string): void {
  if (typeof from === "string" && from.length > 0 && from.length <= MAX_CURSOR_LENGTH) return;
  throw new RpcError("invalid_argument", `a cursor is a text of 1 to ${MAX_CURSOR_LENGTH} characters`, {
    refused: true,
  });
}
