import type { z } from "zod";

/** Any schema of zod 4, or of zod/mini. */
export type Schema = z.core.$ZodType & {
  safeParse(value: unknown): z.core.util.SafeParseResult<unknown>;
};

/** A sequence of messages of one schema: an input or output that streams. */
export interface StreamSchema<Item extends Schema = Schema> {
  readonly kind: "stream";
  readonly item: Item;
}

/** A stream of raw bytes, passed through without messages or validation. */
export interface BytesSchema {
  readonly kind: "bytes";
}

/** A schema of a method's input or output. */
export type Payload = Schema | StreamSchema | BytesSchema;

/** Declares that an input or output is a stream of `item` messages. */
export function stream<Item extends Schema>(item: Item): StreamSchema<Item> {
  return { kind: "stream", item };
}

/**
 * Declares that an input or output is raw bytes: a stream of `Uint8Array` chunks. As with any byte stream, where one chunk
 * ends and the next begins may change on the way. With bytes on both sides, either may end before the other.
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
