import type { z } from "zod";

/** Any schema of zod 4, or of zod/mini. */
export type Schema = z.core.$ZodType & {
  safeParse(value: unknown): z.core.util.SafeParseResult<unknown>;
};

/** A sequence of messages of one schema: an input or output that is streamed. */
export interface StreamSchema<Item extends Schema = Schema> {
  readonly kind: "stream";
  readonly item: Item;
}

/** A stream of raw bytes, passed through without messages or validation. */
export interface BytesSchema {
  readonly kind: "bytes";
}

/** A schema for the input or output of a method. */
export type Payload = Schema | StreamSchema | BytesSchema;

/** Declares that an input or output is a stream of messages, each with the schema `item`. */
export function stream<Item extends Schema>(item: Item): StreamSchema<Item> {
  return { kind: "stream", item };
}

/**
 * Declares that an input or output is raw bytes: a stream of `Uint8Array` chunks. Chunk boundaries may change on the
 * way, as in any byte stream. If both sides send bytes, each side can end before the other.
 */
export function bytes(): BytesSchema {
  return { kind: "bytes" };
}

export function isStreamSchema(payload: Payload | undefined): payload is StreamSchema {
  return payload !== undefined && "kind" in payload && payload.kind === "stream" && "item" in payload;
}

export function isBytesSchema(payload: Payload | undefined): payload is BytesSchema {
  return payload !== undefined && "kind" in payload && payload.kind === "bytes";
}
