import { type BlobFields, fnv1a, isBytesSchema, isStreamSchema, type Payload } from "@quicrpc/core/generated";
import { randomNumbers } from "@quicrpc/testing";
import type { ZodLike } from "./schema.js";
import { valueOf, valuesOf } from "./values.js";

/** Numbers from 0 to 1. */
export type Random = () => number;

/** Items of a stream. */
const ITEMS = [3, 8] as const;
const CHUNK_BYTES = 1024;

/**
 * Returns what makes data of a payload, one item or chunk of it where it is a stream, the same for the same numbers; undefined where there is none. Throws
 * `MockError` where no data can be made of it; what is returned throws it where none passes the schema's own checks.
 */
export function itemsOf(payload: Payload | undefined): ((random: Random) => unknown) | undefined {
  if (payload === undefined) return undefined;
  if (isBytesSchema(payload)) return bytesFrom;
  const schema = (isStreamSchema(payload) ? payload.item : payload) as unknown as ZodLike;
  const source = valuesOf(schema);
  return (random) => valueOf(schema, source, seedFrom(random));
}

/** `message` with bytes in its fields that are blobs, in place of what refers to them. */
export function withBlobs(message: unknown, fields: BlobFields["input"], random: Random): unknown {
  if (fields === undefined || typeof message !== "object" || message === null) return message;
  const given: Record<string, unknown> = { ...message };
  for (const { name, maxBytes = CHUNK_BYTES } of fields) {
    const bytes = bytesFrom(random).subarray(0, maxBytes);
    if (given[name] !== undefined) given[name] = { content: new Blob([bytes]), name: `${name}.bin` };
  }
  return given;
}

/** Whether a payload is a stream, of items or of bytes. */
export function isStream(payload: Payload | undefined): boolean {
  return isStreamSchema(payload) || isBytesSchema(payload);
}

/** How many items a stream has. */
export function countFrom(random: Random): number {
  const [least, most] = ITEMS;
  return least + Math.floor(random() * (most - least + 1));
}

/** Returns what makes the inputs of a method, one after the other: the same, in the same order, for the same seed. Throws as `itemsOf` does. */
export function inputsOf(
  method: string,
  payload: Payload | undefined,
  seed: number,
  blobs?: BlobFields["input"],
): () => unknown {
  const item = itemsOf(payload);
  if (item === undefined) return () => undefined;
  const random = randomNumbers(seedOf(seed, method));
  if (!isStream(payload)) return () => withBlobs(item(random), blobs, random);
  return () => Array.from({ length: countFrom(random) }, () => item(random));
}

/** A seed for a method: of all its calls, or of those with one input. */
export function seedOf(seed: number, method: string, input = ""): number {
  return (seed ^ fnv1a(`${method} ${input}`)) | 0;
}

function seedFrom(random: Random): number {
  return Math.floor(random() * 2 ** 32) | 0;
}

function bytesFrom(random: Random): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: CHUNK_BYTES }, () => Math.floor(random() * 256));
}
