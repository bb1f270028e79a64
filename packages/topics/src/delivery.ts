import type { MessageCodec, PayloadWriter } from "@quicrpc/core/generated";
import { decodeWithin, FrameWriter, MemoryBudget } from "@quicrpc/core/internal";

/** A message in the form that subscribers receive. */
export interface TopicItem {
  /**
   * The message. Undefined in the first item of a subscription without `from` to a topic with history: that item
   * contains only the position at which the subscription starts.
   */
  readonly message: unknown;
  /** Number of messages directly before this one that the subscriber did not receive because it was too slow. */
  readonly lost?: number | undefined;
  /** Position of the message, if the topic has history. */
  readonly position?: string | undefined;
}

/** A message on its way to the subscribers of this process. It is decoded once for all of them. */
export interface Delivery {
  readonly item: TopicItem;
  /** Estimated memory of the message in bytes. */
  readonly size: number;
  /** Number of subscriptions whose queue contains the message. */
  holders: number;
}

/** Estimated memory of a delivery in bytes, without its message. */
const DELIVERY_BYTES = 256;
/** Number of bytes that are reserved for the position in an encoded item. */
const ROOM_FOR_POSITION = 64;
/** Cache of encoded items that are sent to many subscribers. */
const encoded = new WeakMap<object, Uint8Array>();
/** A message from a log, shared by the subscribers that read the same history. */
interface LoggedItem {
  readonly item: WeakRef<TopicItem>;
  readonly codec: MessageCodec<unknown>;
}

/** Cache of messages from logs, by their bytes. */
const logged = new WeakMap<Uint8Array, LoggedItem>();

/**
 * Decodes a message from a bus. If it comes from a log, `position` is its position, which its bytes do not contain.
 * Throws the codec's error if the message does not match its schema.
 */
export function deliveryOf(codec: MessageCodec<unknown>, bytes: Uint8Array, position?: string): Delivery {
  // No limit, because waiting messages are limited by their memory, and not by the number of values in them.
  const budget = new MemoryBudget(Number.MAX_SAFE_INTEGER, "");
  const decoded = decodeWithin(budget, codec, bytes, 0, bytes.length) as TopicItem;
  const heldBytes = budget.decodedBytes + DELIVERY_BYTES;
  const item = position === undefined ? decoded : { ...decoded, position };
  const sent = position === undefined ? bytes : encodedBy(codec, item, bytes.length + ROOM_FOR_POSITION);
  encoded.set(item, sent);
  return { item, size: heldBytes, holders: 0 };
}

/** Decodes a message that was read from a log, as an item for subscribers. */
export function loggedItem(codec: MessageCodec<unknown>, bytes: Uint8Array, position: string): TopicItem {
  const known = logged.get(bytes);
  const shared = known?.codec === codec ? known.item.deref() : undefined;
  // A log may store equal messages once.
  if (shared?.position === position) return shared;
  const { item } = deliveryOf(codec, bytes, position);
  logged.set(bytes, { item: new WeakRef(item), codec });
  return item;
}

/**
 * Encodes an item for subscribers. Throws the codec's error if the item does not match its schema.
 *
 * @param initialBytes expected number of bytes
 */
export function encodedBy(codec: MessageCodec<unknown>, item: TopicItem, initialBytes: number = 256): Uint8Array {
  const out = new FrameWriter(initialBytes);
  codec.encode(item, out);
  return out.buffer.slice(0, out.position);
}

/** Returns a codec with a cache, so that a message for many subscribers is encoded only once. */
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
