import type { Code } from "@quicrpc/core";
import type { Json } from "./recorded-values.js";

/** One thing that happened in a call, as its caller saw it. */
export type Step =
  /** The caller's message, or one of them. */
  | { readonly in: Json }
  /** The callee's. */
  | { readonly out: Json }
  /** The caller has no more messages. */
  | { readonly end: true };

/** A field of metadata. */
export type Field = readonly [name: string, value: Json];

/** One call, in the order in which its caller saw things happen. */
export interface RecordedCall {
  readonly method: string;
  readonly fingerprint?: number | undefined;
  readonly steps: Step[];
  metadata?: readonly Field[];
  trailers?: readonly Field[];
  /** Error that the call failed with. */
  error?: RecordedError;
  /** Whether it had ended, well or not, when the recording did. */
  isOver: boolean;
}

/** An error as its caller saw it. */
export interface RecordedError {
  readonly code: Code;
  readonly message: string;
  readonly reason?: string;
  readonly details: Json;
  readonly trailers: readonly Field[];
}

/** Calls in the order in which they began. */
export interface Recording {
  readonly version: 1;
  readonly calls: readonly RecordedCall[];
}
