import type { AnyMethod } from "../contract/descriptor.js";
import { unpack } from "../msgpack/unpack.js";
import type { ReceivedFault } from "../wire/fault.js";
import type { Explanation } from "./fault.js";

/** The hint of a failure whose reason stays at the server. */
const FAILED = "the server's log, or its `onError`, has the reason";

/** Explains a fault: reads details that no schema declares, and names what the peer does not serve. */
export function explainFault({ code, message, details }: ReceivedFault, method: AnyMethod): Explanation {
  const read = details === undefined ? undefined : { details: unpackDetails(details) };
  const unserved = code === "unimplemented" ? describeUnserved(message, method) : undefined;
  const failed = code === "internal" && message.startsWith("the handler failed") ? { hint: FAILED } : undefined;
  return { ...read, ...unserved, ...failed };
}

/**
 * Completes a peer's answer about a method that it does not serve with the names that only the caller knows; undefined where
 * the answer is about something else.
 */
function describeUnserved(
  message: string,
  { service, id, name }: AnyMethod,
): { readonly message: string; readonly hint: string } | undefined {
  const noService = `no service with id ${service.id} `;
  if (message.startsWith(noService) || message.startsWith("nothing is served here")) {
    const hint = `give the router of ${service.name} to the peer's option \`routers\`, or call a peer that serves it`;
    return { message: message.replace(noService, () => `no service ${service.name} `), hint };
  }
  const noMethod = `service ${service.name} has no method with id ${id} `;
  if (!message.startsWith(noMethod)) return undefined;
  const hint = "the peer was generated from another version of the schema: generate both sides from one";
  return { message: message.replace(noMethod, () => `service ${service.name} has no method ${name} `), hint };
}

/** Details that cannot be read are left out. */
function unpackDetails(details: Uint8Array): unknown {
  if (details.length === 0) return undefined;
  try {
    return unpack(details, 0, details.length);
  } catch {
    return undefined;
  }
}
