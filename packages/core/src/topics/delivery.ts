import type { MessageCodec, PayloadWriter } from "../contract/codec.js";

/** A message as subscribers get it. */
export interface TopicItem {
  readonly message: unknown;
  /** Messages before this one that were dropped for the subscriber. */
  readonly lost?: number | undefined;
}

/** A message on its way to the subscribers of this process, decoded once. */
export interface Delivery {
  readonly item: TopicItem;
  /** Bytes as it is sent. */
  readonly size: number;
  /** Subscriptions that have it in their queues. */
  holders: number;
}

/** The bytes of items that many subscribers get. */
const encoded = new WeakMap<object, Uint8Array>();

/** Makes the delivery of a message that a bus carried as `bytes`. Throws what the codec does for one that does not fit. */
export function deliveryOf(codec: MessageCodec<unknown>, bytes: Uint8Array): Delivery {
  const item = codec.decode(bytes, 0, bytes.length) as TopicItem;
  encoded.set(item, bytes);
  return { item, size: bytes.length, holders: 0 };
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
