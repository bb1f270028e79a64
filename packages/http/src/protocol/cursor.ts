import { RpcError } from "@quicrpc/core";

/** Name of the request header with a cursor, percent-encoded. The stream continues after the item with this cursor. */
export const FROM_HEADER = "quicrpc-from";

/**
 * Returns the value of the header `FROM_HEADER` for a cursor. Throws `RpcError` `invalid_argument` if the cursor is not
 * well-formed text.
 */
export function writeCursor(cursor: string): string {
  try {
    return encodeURIComponent(cursor);
  } catch (error) {
    throw new RpcError("invalid_argument", "a cursor is text", { cause: error });
  }
}

/**
 * Parses the value of the header `FROM_HEADER`; returns undefined if it is absent. Throws `RpcError` `invalid_argument`
 * if it is not a cursor.
 */
export function readCursor(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch (error) {
    throw new RpcError("invalid_argument", `${FROM_HEADER} is not percent-encoded text`, { cause: error });
  }
}

/** Decodes the `Last-Event-ID` header of a browser, whose UTF-8 bytes arrive as characters. */
export function readEventId(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}
