import { pack } from "../msgpack/pack.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { declaredError } from "../contract/method-errors.js";
import { asError, type RpcError } from "../errors.js";
import type { SentFault } from "../wire/sent-fault.js";
import type { HeadFields } from "../wire/head.js";
import { FrameWriter } from "../wire/writer.js";

/**
 * Converts an error into the fault that is sent. The name of the error is sent only if the method declares it; details
 * that do not fit the declaration go to `onMisfit`, and are sent without the name.
 */
export function faultOf(
  error: RpcError,
  method: AnyMethod | undefined,
  head: HeadFields | undefined,
  onMisfit: (error: unknown) => void,
): SentFault {
  const { code, message, reason } = error;
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared === undefined) return { code, message, head, details: packDetails(error.details) };
  try {
    const out = new FrameWriter(256);
    declared.details?.encode(error.details, out);
    return { code, message, head: { ...head, reason }, details: out.position === 0 ? undefined : out.written() };
  } catch (misfit) {
    const cause = asError(misfit);
    onMisfit(new Error(`the details of ${reason} do not fit their schema: ${cause.message}`, { cause }));
    return { code, message, head, details: packDetails(error.details) };
  }
}

/**
 * Encodes details as MessagePack; undefined if that fails, because the caller should receive the error itself in any
 * case. May run user code (getters).
 */
export function packDetails(details: unknown): Uint8Array | undefined {
  if (details === undefined) return undefined;
  try {
    return pack(details);
  } catch {
    return undefined;
  }
}
