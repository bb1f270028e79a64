import { RpcError } from "@quicrpc/core";

/** Request header with the cursor of the item after which a stream should continue, percent-encoded. */
export const FROM_HEADER = "quicrpc-from";

/** Returns the header's value for a cursor. Throws `RpcError` `invalid_argument` if the cursor is not well-formed text. */
export function writeCursor(cursor: string): string {
  try {
    return encodeURIComponent(cursor);
  } catch (error) {
    throw new RpcError("invalid_argument", "a cursor is text", { cause: error });
  }
}

/** Parses the header; undefined without it. Throws `RpcError` `invalid_argument` if it is not a cursor. */
export function readCursor(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch (error) {
    throw new RpcError("invalid_argument", `${FROM_HEADER} is not percent-encoded text`, { cause: error });
  }
}

/** Decodes the id of an event. A browser sends it as UTF-8 in a header, whose bytes arrive as characters. */
export function readEventId(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}
