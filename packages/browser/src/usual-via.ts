import type { SessionOptions } from "@quicrpc/core";

/**
 * Returns the default transport of calls in this browser. In Firefox all calls share lanes: its streams do not report
 * `cancel` to the peer, and lose received data when the peer stops reading from them.
 */
export function usualVia(): Pick<SessionOptions, "via"> {
  return globalThis.navigator?.userAgent?.includes("Firefox/") ? { via: "lane" } : {};
}
