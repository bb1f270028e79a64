import type { Code } from "@quicrpc/core";
import { fromMarkedJson, markedJson } from "@quicrpc/core/internal";

/** One event of a recorded call, as its caller saw it. */
export type Step =
  /** The caller sent a message. */
  | { readonly in: RecordedJson }
  /** The callee sent a message. */
  | { readonly out: RecordedJson }
  /** The caller ended its messages. */
  | { readonly end: true };

export type RecordedField = readonly [name: string, value: RecordedJson];

export interface RecordedCall {
  readonly method: string;
  readonly fingerprint?: number | undefined;
  readonly steps: Step[];
  metadata?: readonly RecordedField[];
  trailers?: readonly RecordedField[];
  /** Error with which the call failed. Undefined if it succeeded. */
  error?: RecordedError;
  /** False if the call was still in progress when the recording ended. */
  isOver: boolean;
}

export interface RecordedError {
  readonly code: Code;
  readonly message: string;
  readonly reason?: string;
  readonly details: RecordedJson;
  readonly trailers: readonly RecordedField[];
}

/** The recorded calls, in the order in which they were started. */
export interface Recording {
  readonly version: 2;
  readonly calls: readonly RecordedCall[];
}

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

/** Converts the result of `toJson` back to a message. Throws `RpcError` for JSON that `toJson` cannot have produced. */
export function fromJson(json: RecordedJson): unknown {
  return fromMarkedJson(JSON.stringify(json));
}

/** Returns a text that is equal for equal JSON values, regardless of the order of members. */
export function canonicalText(json: RecordedJson): string {
  return JSON.stringify(json, (_, value: RecordedJson) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
