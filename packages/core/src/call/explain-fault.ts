import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { unpack } from "../msgpack/pack.js";
import type { Explanation, Fault } from "./fault.js";
import { decodeWithin } from "../msgpack/decode-within.js";

/** Hint for an error about a failed handler. Clients do not receive the reason of such an error. */
const FAILED = "the server's log, or its `onError`, has the reason";

/**
 * Completes an error that the peer sent: decodes details that the method does not declare, and replaces service and
 * method ids by names if the peer does not serve the method.
 */
export function explainFault({ code, message, details, budget }: Fault, method: AnyMethod): Explanation {
  const read = details === undefined ? undefined : readDetails(details, budget);
  const unserved = code === "unimplemented" ? describeUnserved(message, method) : undefined;
  const failed = code === "internal" && message.startsWith("the handler failed") ? { hint: FAILED } : undefined;
  return { ...read, ...unserved, ...failed };
}

/**
 * Returns a clearer message and a hint if the peer's error says that it does not serve the method; otherwise undefined.
 * The peer knows only ids, the caller also names.
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

/**
 * Decodes the details of an error. Omits details that cannot be decoded; if they exceed the memory budget, the returned
 * hint says so.
 */
function readDetails(details: Uint8Array, budget: MemoryBudget): Explanation {
  if (details.length === 0) return { details: undefined };
  try {
    return { details: decodeWithin(budget, anyDetails, details, 0, details.length) };
  } catch (error) {
    const isLarge = error instanceof RpcError && error.code === "resource_exhausted";
    return { details: undefined, ...(isLarge && { hint: `its details are left out: ${error.message}` }) };
  }
}

const anyDetails = { decode: unpack, encode: () => {} };
