import type { Limits } from "@quicrpc/core";
import { FROM_HEADER, readCursor, readEventId } from "../protocol/cursor.js";
import { readTimeout, TIMEOUT_HEADER } from "../protocol/timeout.js";
import type { HttpExchange } from "./exchange.js";
import type { Match } from "./routes.js";

/**
 * Returns the milliseconds that the caller of a request waits, up to the server's limit; undefined if not given. Throws
 * `RpcError`.
 */
export function requestTimeoutOf(exchange: HttpExchange, { maxTimeoutMs }: Limits): number | undefined {
  const timeoutMs = readTimeout(exchange.header(TIMEOUT_HEADER));
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, maxTimeoutMs);
}

/** Returns the cursor of the last item that the caller has received. */
export function positionOf(
  exchange: HttpExchange,
  { bound: { method }, framing }: Pick<Match<unknown>, "bound" | "framing">,
): string | undefined {
  const headerCursor = readCursor(exchange.header(FROM_HEADER));
  // A browser sends the id automatically, so it means nothing for a stream without cursors.
  const eventId = framing === "events" && method.cursor !== undefined ? exchange.header("last-event-id") : undefined;
  return readEventId(eventId) ?? headerCursor;
}

/** Returns the names of the compressions that the client supports. Default: the compression of its request. */
export function compressionsOf(
  exchange: HttpExchange,
  { framing, query }: Pick<Match<unknown>, "framing" | "query">,
): string | undefined {
  if (framing === "stream") {
    return exchange.header("connect-accept-encoding") ?? exchange.header("connect-content-encoding");
  }
  return exchange.header("accept-encoding") ?? query?.get("compression") ?? exchange.header("content-encoding");
}
