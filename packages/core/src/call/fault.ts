import type { AnyMethod } from "../contract/descriptor.js";
import { declaredError } from "../contract/method-errors.js";
import { type RpcError, untracedError, explainLater } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Channel } from "../transport/channel.js";
import { noteEndOfSession } from "../transport/close-codes.js";
import { expand } from "../transport/expand.js";
import { readFault, type ReceivedFault } from "../wire/fault.js";
import type { Frame } from "../wire/frame.js";
import { decodeMetadata } from "../wire/metadata.js";
import { decodeWithin } from "../msgpack/decode-within.js";

export interface Fault extends ReceivedFault {
  readonly budget: MemoryBudget;
}

export function receiveFault({ compression, budget }: Channel, frame: Frame, maxMetadataBytes: number): Fault {
  const fault = readFault(frame, maxMetadataBytes, (bytes, start, end) => expand(compression, bytes, start, end));
  return { ...fault, budget };
}

export interface Explanation {
  readonly message?: string;
  readonly details?: unknown;
  readonly hint?: string;
}

/**
 * Returns better text for an error of the peer: an internal error, an unserved method, or an error whose details the
 * method does not declare.
 */
export type ExplainFault = (fault: Fault, method: AnyMethod) => Explanation | Promise<Explanation>;

/**
 * Converts an error that the peer sent to the `RpcError` that the call fails with. If the details do not match the
 * method's schema, the `RpcError` has no `reason`.
 */
export function errorOf(fault: Fault, method: AnyMethod, explain: ExplainFault): RpcError {
  const { code, head } = fault;
  let reason = head?.reason;
  let read: unknown;
  let unread = fault.details;
  const codec = reason === undefined ? undefined : declaredError(method, reason)?.details;
  if (codec !== undefined) {
    try {
      const bytes = unread ?? new Uint8Array(0);
      read = decodeWithin(fault.budget, codec, bytes, 0, bytes.length);
      unread = undefined;
    } catch {
      reason = undefined;
    }
  }
  const isPlain = unread === undefined && code !== "unimplemented" && code !== "internal";
  const explained = isPlain ? {} : explain({ ...fault, details: unread }, method);
  const isLater = explained instanceof Promise;
  const { message = fault.message, details = read, hint }: Explanation = isLater ? {} : explained;
  const { refused, trailers } = head ?? {};
  const error = untracedError(code, message, { reason, details, metadata: decodeMetadata(trailers), refused, hint });
  if (isLater) {
    const completed = explained.then((explanation) => Object.assign(error, explanation));
    explainLater(error, completed);
  }
  return head?.leaving === true ? noteEndOfSession(error) : error;
}
