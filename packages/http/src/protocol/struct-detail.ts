import type { RpcError } from "@quicrpc/core";
import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import { declaredError, toBase64 } from "@quicrpc/core/internal";
import { readBase64, unpadded } from "./base64.js";
import type { ErrorDetail } from "./error-json.js";
import { misfitOf, type NamedDetails } from "./packed-detail.js";
import { type Json, type JsonObject, readStruct, writeStruct } from "./struct.js";

/**
 * Type of the error detail that contains declared details as a protobuf struct, which every Connect client can read.
 */
export const STRUCT_TYPE = "google.protobuf.Struct";

/**
 * Converts the details of declared errors to and from JSON, by their schema. Both functions may throw if the details do
 * not match.
 */
export interface DetailsJson {
  toJson(codec: MessageCodec<unknown>, details: unknown): Json;
  fromJson(codec: MessageCodec<unknown>, json: Json): unknown;
}

/**
 * Returns an error's name and details as an error detail that every Connect client can read: a struct with the fields
 * `reason` and `details`. Returns undefined if the error has neither, or if JSON cannot represent them. The name is
 * included only if the method declares it.
 *
 * @param onMisfit called with an error if the details do not match the schema
 */
export function structDetail(
  { reason, details }: RpcError,
  method: AnyMethod | undefined,
  by: Pick<DetailsJson, "toJson"> = plainJson,
  onMisfit?: (error: Error) => void,
): ErrorDetail | undefined {
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared !== undefined && reason !== undefined) {
    try {
      const json = declared.details === undefined ? undefined : by.toJson(declared.details, details);
      return detailOf({ reason, ...(json !== undefined && { details: json }) });
    } catch (misfit) {
      // The details are sent without the name.
      onMisfit?.(misfitOf(reason, misfit));
    }
  }
  if (details === undefined) return undefined;
  try {
    return detailOf({ details: readable(details) });
  } catch {
    return undefined;
  }
}

function detailOf(debug: JsonObject): ErrorDetail {
  return { type: STRUCT_TYPE, value: unpadded(writeStruct(debug)), debug };
}

/**
 * Finds and decodes the detail that `structDetail` has created; returns undefined if there is none. If the details do
 * not match this side's schema, they are returned without the name.
 */
export function readStructDetail(
  details: readonly ErrorDetail[],
  method: AnyMethod,
  by: Pick<DetailsJson, "fromJson"> = plainJson,
): NamedDetails | undefined {
  const [found, ...others] = details;
  if (found?.type !== STRUCT_TYPE || others.some(({ type }) => type === STRUCT_TYPE)) return undefined;
  const bytes = readBase64(found.value);
  const struct = bytes && readStruct(bytes);
  if (struct === undefined || Object.keys(struct).some((key) => key !== "reason" && key !== "details"))
    return undefined;
  const { reason, details: json } = struct;
  const declared = typeof reason === "string" ? declaredError(method, reason) : undefined;
  if (typeof reason === "string" && declared !== undefined) {
    try {
      const read = declared.details === undefined ? undefined : by.fromJson(declared.details, json ?? null);
      return { reason, details: read };
    } catch {
      return { reason: undefined, details: json };
    }
  }
  // The server's schema may declare errors that this side's schema does not.
  return { reason: typeof reason === "string" ? reason : undefined, details: json };
}

/** Used if no converter is given: checks details by the schema, and writes types that JSON lacks as readable text. */
const plainJson: DetailsJson = {
  toJson: ({ plain }, details) => readable(plain === undefined ? details : plain.encode(details)),
  fromJson: ({ plain }, json) => (plain === undefined ? json : plain.decode(json)),
};

const MAX_DEPTH = 100;

/**
 * Converts any value to JSON that people can read: dates in RFC 3339, bytes as base64, bigints as strings, maps as
 * pairs, sets as arrays. Throws `RangeError` if the value is nested too deeply.
 */
export function readable(value: unknown, depth = 0): Json {
  if (depth > MAX_DEPTH) throw new RangeError(`values are nested more than ${MAX_DEPTH} deep`);
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    return Array.from(value as Iterable<unknown>, (item) => readable(item, depth + 1));
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, readable(item, depth + 1)]));
}
