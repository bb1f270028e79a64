import type { BlobFields } from "@quicrpc/core/generated";
import { fnv1a, isBytesSchema, isStreamSchema, type Payload } from "@quicrpc/core/internal";
import { randomNumbers } from "@quicrpc/testing";
import type { ZodLike } from "./schema.js";
import { mockValue, valuesOf } from "./values.js";

/** Returns a random number of at least 0 and less than 1. */
export type Random = () => number;

/** Minimum and maximum number of items of a generated stream. */
const ITEMS = [3, 8] as const;
const CHUNK_BYTES = 1024;

/**
 * Returns a function that generates data for an input or output: one item or chunk if it is a stream. The same random
 * numbers lead to the same data. Returns undefined if `payload` is undefined. Throws `MockError` if no data can be
 * generated for the schema. The returned function throws it if no generated value passes the schema's own checks.
 */
export function itemsOf(payload: Payload | undefined): ((random: Random) => unknown) | undefined {
  if (payload === undefined) return undefined;
  if (isBytesSchema(payload)) return bytesFrom;
  const schema = (isStreamSchema(payload) ? payload.item : payload) as unknown as ZodLike;
  const source = valuesOf(schema);
  return (random) => mockValue(schema, source, seedFrom(random));
}

export function withBlobs(message: unknown, fields: BlobFields["input"], random: Random): unknown {
  if (fields === undefined || typeof message !== "object" || message === null) return message;
  const filled: Record<string, unknown> = { ...message };
  for (const { name, maxBytes = CHUNK_BYTES } of fields) {
    const bytes = bytesFrom(random).subarray(0, maxBytes);
    if (filled[name] !== undefined) filled[name] = { content: new Blob([bytes]), name: `${name}.bin` };
  }
  return filled;
}

export function isStreamPayload(payload: Payload | undefined): boolean {
  return isStreamSchema(payload) || isBytesSchema(payload);
}

export function countFrom(random: Random): number {
  const [min, max] = ITEMS;
  return min + Math.floor(random() * (max - min + 1));
}

/**
 * Returns a function that generates inputs of a method, one after another. The same seed leads to the same inputs in
 * the same order. Throws `MockError` if no data can be generated for the schema.
 */
export function inputsOf(
  method: string,
  payload: Payload | undefined,
  seed: number,
  blobs?: BlobFields["input"],
): () => unknown {
  const item = itemsOf(payload);
  if (item === undefined) return () => undefined;
  const random = randomNumbers(seedOf(seed, method));
  if (!isStreamPayload(payload)) return () => withBlobs(item(random), blobs, random);
  return () => Array.from({ length: countFrom(random) }, () => item(random));
}

/**
 * Returns a seed for a method, derived from the seed of the run: the same for all its calls, or a specific one for each
 * input.
 */
export function seedOf(seed: number, method: string, input = ""): number {
  return (seed ^ fnv1a(`${method} ${input}`)) | 0;
}

function seedFrom(random: Random): number {
  return Math.floor(random() * 2 ** 32) | 0;
}

function bytesFrom(random: Random): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: CHUNK_BYTES }, () => Math.floor(random() * 256));
}
