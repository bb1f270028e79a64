import type { SessionOptions } from "@quicrpc/core";

/**
 * How calls travel in this browser where neither they nor their session say so. In Firefox all of them share lanes: its streams
 * tell the peer nothing of `cancel`, and lose what they have received when the peer wants no more of what they send.
 */
export function usualVia(): Pick<SessionOptions, "via"> {
  return globalThis.navigator?.userAgent?.includes("Firefox/") ? { via: "lane" } : {};
}
