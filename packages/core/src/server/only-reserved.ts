import type { Callee } from "../call/carrier.js";
import { FormatTable } from "../call/messages/session-format.js";
import { Serving, type ServingHost } from "./serving.js";

/** Serves what the peer may call without a router, in a session that serves nothing else. */
export function onlyReserved(host: ServingHost, prefix: Uint8Array): Callee {
  return new Serving(host, {}, { prefix, formats: new FormatTable([]), compression: undefined });
}
