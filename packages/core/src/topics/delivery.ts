import { decodedBytes, decodeWithin } from "../call/messages/decode-within.js";
import type { MessageCodec, PayloadWriter } from "../contract/codec.js";
import { MemoryBudget } from "../memory-budget.js";
import { FrameWriter } from "../wire/writer.js";

/** A message as subscribers get it. */
export interface TopicItem {
  /** Undefined in the first item of a subscription without `from` to a topic with history: it says where the subscription begins. */
  readonly message: unknown;
  /** Messages before this one that were dropped for the subscriber. */
  readonly lost?: number | undefined;
  /** The message's position, where the topic has history. */
  readonly position?: string | undefined;
}

/** A message on its way to the subscribers of this process, decoded once. */
export interface Delivery {
  readonly item: TopicItem;
  /** Bytes that it takes in memory, by estimate. */
  readonly size: number;
  /** Subscriptions that have it in their queues. */
  holders: number;
}

/** Bytes that a delivery takes beside its message. */
const DELIVERY_BYTES = 256;
/** Budget without a limit: messages that wait are limited by their memory, and not by how many values one of them has. */
const unbounded: MemoryBudget = new MemoryBudget(Number.MAX_SAFE_INTEGER, "");

/** The bytes of items that many subscribers get. */
const encoded = new WeakMap<object, Uint8Array>();

/**
 * Makes the delivery of a message that a bus carried as `bytes`, and a log with a position, which it was published without. Throws what the codec
 * does for one that does not fit.
 */
export function deliveryOf(codec: MessageCodec<unknown>, bytes: Uint8Array, position?: string): Delivery {
  const given = decodeWithin(unbounded, codec, bytes, 0, bytes.length) as TopicItem;
  const held = decodedBytes() + DELIVERY_BYTES;
  const item = position === undefined ? given : { ...given, position };
  const sent = position === undefined ? bytes : encodedBy(codec, item);
  encoded.set(item, sent);
  return { item, size: held, holders: 0 };
}

/** The bytes of an item. Throws what the codec does for one that does not fit. */
export function encodedBy(codec: MessageCodec<unknown>, item: TopicItem): Uint8Array {
  const out = new FrameWriter(256);
  codec.encode(item, out);
  return out.buffer.slice(0, out.position);
}

/** `codec`, which writes items of deliveries as the bytes that they came in: a message to many is encoded once. */
export function encodedOnce(codec: MessageCodec<unknown>): MessageCodec<unknown> {
  return {
    ...codec,
    encode(value: unknown, out: PayloadWriter): void {
      const bytes = typeof value === "object" && value !== null ? encoded.get(value) : undefined;
      if (bytes === undefined) {
        codec.encode(value, out);
        return;
      }
      out.reserve(bytes.length);
      out.buffer.set(bytes, out.position);
      out.position += bytes.length;
    },
  };
}
