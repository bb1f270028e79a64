import type { RpcError } from "@quicrpc/core";
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
 */
export function packedDetail({ reason, details }: RpcError, method: AnyMethod | undefined): ErrorDetail | undefined {
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared !== undefined) {
    try {
      const bytes = encodeMessage(declared.details, details, Number.POSITIVE_INFINITY);
      return { type: PACKED_TYPE, value: unpadded(bytes), reason };
    } catch {
      // They go without the name.
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
 * declares are kept, without the name.
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
      // Another version of the schema, or another program.
    }
  }
  return { reason: undefined, details: unpacked(bytes) };
}

/** Details that cannot be read are left out. */
function unpacked(bytes: Uint8Array): unknown {
  try {
    return bytes.length === 0 ? undefined : unpack(bytes, 0, bytes.length);
  } catch {
    return undefined;
  }
}
