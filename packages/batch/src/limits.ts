import { RpcError } from "@quicrpc/core";
import type { PayloadWriter } from "@quicrpc/core/generated";
import { FrameWriter } from "@quicrpc/core/internal";

/** Limits of one batch at the server. */
export interface BatchLimits {
  /** Maximum number of steps, at most 1,024. Default 32. */
  readonly maxSteps?: number;
  /** Maximum number of steps that wait for one another, in a row. Default 8. */
  readonly maxDepth?: number;
  /** Maximum number of elements for which one step runs. Default 100. */
  readonly maxElements?: number;
  /** Maximum number of calls: each step counts once, or once for each element. Default 250. */
  readonly maxCalls?: number;
  /** Maximum number of calls that run at the same time. Default 16. */
  readonly maxConcurrent?: number;
  /**
   * Maximum bytes of all encoded inputs, responses and failures together, sent or not. Each value of an input that takes
   * parts of responses counts as 32 bytes or more. Default 1 MiB.
   */
  readonly maxBytes?: number;
  /** Maximum time in milliseconds; calls that are not over by then fail with `deadline_exceeded`. Default 30,000. */
  readonly maxMs?: number;
}

/** Options of `createBatches`. */
export interface BatchOptions extends BatchLimits {
  /**
   * Sends the times of calls to callers that ask for them. Precise times can help to guess secrets, so enable it only if
   * callers are trusted. Default false.
   */
  readonly timings?: boolean;
}

const DEFAULTS: Required<BatchLimits> = {
  maxSteps: 32,
  maxDepth: 8,
  maxElements: 100,
  maxCalls: 250,
  maxConcurrent: 16,
  maxBytes: 1_048_576,
  maxMs: 30_000,
};

/** Maximum number of steps of a plan that its schema accepts. */
const MAX_STEPS = 1024;

/** Returns `limits` with defaults. Throws `TypeError` if one is not a positive integer. */
export function completeLimits(limits: BatchLimits): Required<BatchLimits> {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const max = name === "maxSteps" ? MAX_STEPS : Number.MAX_SAFE_INTEGER;
    if (!Number.isInteger(value) || value < 1 || value > max)
      throw new TypeError(`createBatches(): ${name} is an integer from 1 to ${max}, not ${value}`);
  }
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/**
 * Bytes that a value counts as, in addition to those of a text: an input that does not fit its schema takes up to 4
 * microseconds for each value.
 */
const VALUE_BYTES = 32;

/** Returns the estimated cost of encoding `value`, in bytes. Stops counting when it exceeds `max`. */
export function encodingCost(value: unknown, max: number): number {
  let cost = VALUE_BYTES;
  if (typeof value === "string") return cost + value.length;
  if (typeof value === "bigint") return cost + value.toString(16).length / 2;
  if (typeof value !== "object" || value === null) return cost;
  if (ArrayBuffer.isView(value)) return cost + value.byteLength;
  const isRecord = !Array.isArray(value) && !(value instanceof Set) && !(value instanceof Map);
  const parts: Iterable<unknown> = isRecord ? Object.values(value) : value;
  if (isRecord) for (const key of Object.keys(value)) cost += key.length;
  for (const part of parts) {
    if (cost > max) break;
    cost += encodingCost(part, max - cost);
  }
  return cost;
}

/** Returns the error of a batch that exceeds one of its limits. */
export function exceeded(limit: keyof BatchLimits, max: number, text: string): RpcError {
  return new RpcError("resource_exhausted", `${text}, and ${limit} of the server's batches is ${max}`);
}

/**
 * Returns the message that `write` appends to a writer. Throws `RpcError` `resource_exhausted` if it has far more than
 * `max` bytes.
 */
export function encodeMessage(write: (out: PayloadWriter) => void, max: number = Number.POSITIVE_INFINITY): Uint8Array {
  const out = new BoundedWriter(max);
  try {
    write(out);
    return out.written().slice();
  } finally {
    out.clear();
  }
}

/** A writer that refuses to grow far beyond a maximum. */
class BoundedWriter extends FrameWriter {
  private readonly max: number;

  /** @param max the maximum number of bytes; for texts, codecs reserve up to four times as many as they write */
  constructor(max: number) {
    super();
    this.max = max * 4 + 4096;
  }

  override reserve(length: number): void {
    const needed = this.position + length;
    if (needed > this.buffer.length && needed > this.max)
      throw new RpcError("resource_exhausted", "the message is too large for its batch");
    super.reserve(length);
  }
}
