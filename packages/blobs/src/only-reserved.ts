import { DEFAULT_LIMITS } from "@quicrpc/core";
import { type Callee, type ClientLimits, FormatTable, Serving, type ServingHost } from "@quicrpc/core/internal";

/** Serves only the methods that the peer may call without a router, in a session without routers. */
export function onlyReserved(host: ServingHost & { readonly limits: ClientLimits }, prefix: Uint8Array): Callee {
  const limits = { ...DEFAULT_LIMITS, ...host.limits };
  return new Serving(host, {}, { limits, prefix, formats: new FormatTable([]), compression: undefined });
}
