import type { Code } from "@quicrpc/core";
import type { RecordedJson } from "./recorded-values.js";

/** One event of a call, as its caller saw it. */
export type Step =
  /** A message of the caller. */
  | { readonly in: RecordedJson }
  /** A message of the callee. */
  | { readonly out: RecordedJson }
  /** The end of the caller's messages. */
  | { readonly end: true };

/** A metadata entry. */
export type RecordedField = readonly [name: string, value: RecordedJson];

/** One call, with its events in order. */
export interface RecordedCall {
  readonly method: string;
  readonly fingerprint?: number | undefined;
  readonly steps: Step[];
  metadata?: readonly RecordedField[];
  trailers?: readonly RecordedField[];
  /** Error with which the call failed. */
  error?: RecordedError;
  /** False if the call was still in progress when the recording ended. */
  isOver: boolean;
}

/** An error as its caller saw it. */
export interface RecordedError {
  readonly code: Code;
  readonly message: string;
  readonly reason?: string;
  readonly details: RecordedJson;
  readonly trailers: readonly RecordedField[];
}

/** Calls, ordered by their start. */
export interface Recording {
  readonly version: 2;
  readonly calls: readonly RecordedCall[];
}
