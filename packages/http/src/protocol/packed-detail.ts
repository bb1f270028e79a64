import { RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { declaredError, pack, unpack } from "@quicrpc/core/internal";
import { readBase64, unpadded } from "./base64.js";
import type { ErrorDetail } from "./error-json.js";
import { encodeMessage } from "./message.js";

/**
 * Type of the error detail that contains declared details in MessagePack. Unlike the JSON form, it loses no
 * information.
 */
const PACKED_TYPE = "quicrpc.Details";

export interface NamedDetails {
  readonly reason: string | undefined;
  readonly details: unknown;
}

/**
 * Returns an error's name and details as an error detail in MessagePack. Returns undefined if the error has neither, or
 * if its details do not match the schema and cannot be encoded without it. The name is included only if the method
 * declares it.
 *
 * @param onMisfit called with an error if the details do not match the schema
 */
export function packedDetail(
  { reason, details }: RpcError,
  method: AnyMethod | undefined,
  onMisfit?: (error: Error) => void,
): ErrorDetail | undefined {
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared !== undefined) {
    try {
      const bytes = encodeMessage(declared.details, details, Number.POSITIVE_INFINITY);
      return { type: PACKED_TYPE, value: unpadded(bytes), reason };
    } catch (misfit) {
      // The details are sent without the name.
      onMisfit?.(misfitOf(reason, misfit));
    }
  }
  if (details === undefined) return undefined;
  try {
    return { type: PACKED_TYPE, value: unpadded(pack(details)) };
  } catch {
    return undefined;
  }
}

/**
 * Finds and decodes the detail that `packedDetail` has created; returns undefined if there is none. If the details do
 * not match this side's schema, they are returned without the name.
 */
export function readPackedDetail(details: readonly ErrorDetail[], method: AnyMethod): NamedDetails | undefined {
  const found = details.find(({ type }) => type === PACKED_TYPE);
  const bytes = found && readBase64(found.value);
  if (found === undefined || bytes === undefined) return undefined;
  const reason: unknown = found.reason;
  const declared = typeof reason === "string" ? declaredError(method, reason) : undefined;
  if (typeof reason === "string" && declared !== undefined) {
    try {
      return { reason, details: declared.details?.decode(bytes, 0, bytes.length) };
    } catch {
      return { reason: undefined, details: unpacked(bytes) };
    }
  }
  // The server's schema may declare errors that this side's schema does not.
  return { reason: typeof reason === "string" ? reason : undefined, details: unpacked(bytes) };
}

/** Returns the error for details that do not match their schema, which the error hook receives. */
export function misfitOf(reason: string | undefined, misfit: unknown): Error {
  const { message } = RpcError.from(misfit);
  return new Error(`the details of ${reason} do not fit their schema: ${message}`, { cause: misfit });
}

/** Decodes details from MessagePack without a schema; returns undefined if they are malformed. */
function unpacked(bytes: Uint8Array): unknown {
  try {
    return bytes.length === 0 ? undefined : unpack(bytes, 0, bytes.length);
  } catch {
    return undefined;
  }
}
