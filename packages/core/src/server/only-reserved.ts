import type { Callee } from "../call/carrier.js";
import { FormatTable } from "../call/messages/session-format.js";
import type { ClientLimits } from "../client-limits.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { Serving, type ServingHost } from "./serving.js";

/** Serves the methods that the peer may call without a router, in a session that serves no others. */
export function onlyReserved(host: ServingHost & { readonly limits: ClientLimits }, prefix: Uint8Array): Callee {
  const limits = { ...DEFAULT_LIMITS, ...host.limits };
  return new Serving(host, {}, { limits, prefix, formats: new FormatTable([]), compression: undefined });
}
