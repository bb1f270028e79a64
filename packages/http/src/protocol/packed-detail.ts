import { RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { declaredError, pack, unpack } from "@quicrpc/core/transport";
import { readBase64, unpadded } from "./base64.js";
import type { ErrorDetail } from "./error-json.js";
import { encodeMessage } from "./message.js";

/** The type of a detail that has an error's details as MessagePack, for callers in MessagePack: nothing is lost on the way. */
const PACKED_TYPE = "quicrpc.Details";

/** The name and the details of an error, as an `RpcError` has them. */
export interface NamedDetails {
  readonly reason: string | undefined;
  readonly details: unknown;
}

/**
 * Returns an error's name and details as a detail in MessagePack; undefined where it has neither, or they do not fit what the method
 * declares and cannot be carried otherwise. Its name is sent only where the method declares it.
 * @param onMisfit receives the error of details that do not fit what the method declares
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
      // They go without the name.
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
 * Finds and reads the detail that `packedDetail` has made; undefined where there is none. Details that do not fit what the method
 * declares, in another version of the schema, are kept without the name.
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
  // A name that only the server's version of the schema has.
  return { reason: typeof reason === "string" ? reason : undefined, details: unpacked(bytes) };
}

/** The error of details that do not fit what their method declares, for the error hook. */
export function misfitOf(reason: string | undefined, misfit: unknown): Error {
  const { message } = RpcError.from(misfit);
  return new Error(`the details of ${reason} do not fit their schema: ${message}`, { cause: misfit });
}

/** Details that cannot be read are left out. */
function unpacked(bytes: Uint8Array): unknown {
  try {
    return bytes.length === 0 ? undefined : unpack(bytes, 0, bytes.length);
  } catch {
    return undefined;
  }
}
