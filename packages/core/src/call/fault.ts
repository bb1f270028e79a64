import type { AnyMethod } from "../contract/descriptor.js";
import { declaredError } from "../contract/method-errors.js";
import { type RpcError, untracedError } from "../errors.js";
import type { Channel } from "../transport/channel.js";
import { noteEndOfSession } from "../transport/close-codes.js";
import { expand } from "../transport/expand.js";
import { readFault, type ReceivedFault } from "../wire/fault.js";
import type { Frame } from "../wire/frame.js";
import { decodeMetadata } from "../wire/metadata.js";
import { unpack } from "../msgpack/unpack.js";

/** Reads an error frame that came on `channel`. */
export function receiveFault({ compression }: Channel, frame: Frame, maxMetadataBytes: number): ReceivedFault {
  return readFault(frame, maxMetadataBytes, (bytes, start, end) => expand(compression, bytes, start, end));
}

/** The hint of a failure whose reason stays at the server. */
const FAILED = "the server's log, or its `onError`, has the reason";

/** The error that a caller gets. Details that do not fit what the method declares are kept, without the name. */
export function errorOf({ code, message, head, details }: ReceivedFault, method: AnyMethod): RpcError {
  let reason = head?.reason;
  let read: unknown;
  const codec = reason === undefined ? undefined : declaredError(method, reason)?.details;
  const bytes = details ?? new Uint8Array(0);
  try {
    read = codec === undefined ? unpackDetails(bytes) : codec.decode(bytes, 0, bytes.length);
  } catch {
    reason = undefined;
    read = unpackDetails(bytes);
  }
  const unserved = code === "unimplemented" ? describeUnserved(message, method) : undefined;
  const error = untracedError(code, unserved?.message ?? message, {
    reason,
    details: read,
    metadata: decodeMetadata(head?.trailers),
    refused: head?.refused,
    hint: unserved?.hint ?? (code === "internal" && message.startsWith("the handler failed") ? FAILED : undefined),
  });
  return head?.leaving === true ? noteEndOfSession(error) : error;
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
