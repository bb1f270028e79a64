import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import { isEndOfSession, noteEndOfSession } from "../transport/close-codes.js";

/**
 * Returns the error for the caller of one call, which names method and peer. Calls that end together, such as with
 * their session, get an error each.
 */
export function failureOf(error: RpcError, method: AnyMethod, peer: string | undefined): RpcError {
  return callFailure(error.fromCall ? copyOf(error) : error, fullName(method), peer);
}

function copyOf(error: RpcError): RpcError {
  const { code, message, reason, details, metadata, refused, cause, hint } = error;
  const copy = new RpcError(code, message, { reason, details, metadata, refused, cause, hint });
  return isEndOfSession(error) ? noteEndOfSession(copy) : copy;
}
