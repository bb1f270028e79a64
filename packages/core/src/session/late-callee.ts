import type { SessionParts } from "./parts.js";

/** Loads what serves the peer's calls of reserved methods, in a session that serves nothing else: with its first blob. */
export function servesReserved(prefix: Uint8Array | undefined): NonNullable<SessionParts["lateCallee"]> {
  return async (host) => {
    const { onlyReserved } = await import("./only-reserved.js");
    return onlyReserved(host, prefix);
  };
}
