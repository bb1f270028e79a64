import type { MessageCodec } from "../contract/codec.js";
import type { TopicLog } from "./bus.js";
import type { DeliveryPace } from "./delivery-pace.js";
import { deliveryOf, type TopicItem } from "./delivery.js";
import type { Subscription } from "./subscription.js";

/** The first item of a subscription without a past: it says where to go on, should the subscription be lost before there is a message. */
export async function* beginning(position: string): AsyncGenerator<TopicItem> {
  yield { message: undefined, position };
}

/** The messages that a log has after a position, until the subscription to those that come live is over. */
export async function* logged(
  log: TopicLog,
  name: string,
  codec: MessageCodec<unknown>,
  from: string,
  pace: DeliveryPace,
  live: Subscription,
): AsyncGenerator<TopicItem> {
  for await (const { bytes, position } of log.after(name, from)) {
    const turn = pace.turn();
    if (turn !== undefined) await turn;
    if (live.isOver) return;
    pace.count(1, bytes.length);
    yield deliveryOf(codec, bytes, position).item;
  }
}

/** The past, and then what has come to `live` meanwhile and comes later; what comes by both is given once. */
export function joined(past: AsyncIterable<TopicItem>, live: Subscription): AsyncIterableIterator<TopicItem> {
  const items = give();
  async function* give(): AsyncGenerator<TopicItem, undefined> {
    try {
      let last = 0;
      for await (const item of past) {
        last = orderOf(item);
        yield item;
      }
      for await (const item of live) if (orderOf(item) > last) yield item;
    } finally {
      await live.return();
    }
    return undefined;
  }
  const iterator: AsyncIterableIterator<TopicItem> = {
    next: () => items.next(),
    async return() {
      // First, since a message that is waited for would hold up the rest.
      await live.return();
      return items.return(undefined);
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** The number that a position ends in, which grows. */
function orderOf({ position = "" }: TopicItem): number {
  return Number(/\d+$/.exec(position)?.[0]);
}
