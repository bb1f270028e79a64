import { RpcError } from "@quicrpc/core";

/** The header of a request that says after which item of a stream its caller wants to go on: the cursor, percent-encoded. */
export const FROM_HEADER = "quicrpc-from";

/** Returns the header's value for a cursor. Throws `RpcError` `invalid_argument` for what is no text. */
export function writeCursor(cursor: string): string {
  try {
    return encodeURIComponent(cursor);
  } catch (error) {
    throw new RpcError("invalid_argument", "a cursor is text", { cause: error });
  }
}

/** Reads the header; undefined without it. Throws `RpcError` `invalid_argument` for what is no cursor. */
export function readCursor(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch (error) {
    throw new RpcError("invalid_argument", `${FROM_HEADER} is not percent-encoded text`, { cause: error });
  }
}

/** Reads the id of an event, which a browser sends as UTF-8 in a header whose bytes are read as characters. */
export function readEventId(value: string | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  const bytes = Uint8Array.from(value, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}
