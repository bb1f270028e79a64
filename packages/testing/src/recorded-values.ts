import { fromMarkedJson, markedJson } from "@quicrpc/core/generated";

/** A JSON value. */
export type RecordedJson =
  | null
  | boolean
  | number
  | string
  | readonly RecordedJson[]
  | { readonly [name: string]: RecordedJson };

/**
 * Converts a message to JSON without loss, except for members that are undefined. Throws `TypeError` for values that a
 * message cannot contain, such as a function.
 */
export function toJson(value: unknown): RecordedJson {
  return JSON.parse(markedJson(value)) as RecordedJson;
}

/** Reverses `toJson`. Throws `RpcError` for JSON that `toJson` cannot have written. */
export function fromJson(json: RecordedJson): unknown {
  return fromMarkedJson(JSON.stringify(json));
}

/** Returns a text that is equal for equal values, regardless of the order of members. */
export function canonicalText(json: RecordedJson): string {
  return JSON.stringify(json, (_, value: RecordedJson) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
