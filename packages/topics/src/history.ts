import type { MessageCodec } from "@quicrpc/core/generated";
import type { TurnPace } from "@quicrpc/core/internal";
import type { TopicLog } from "./bus.js";
import { loggedItem, type TopicItem } from "./delivery.js";
import type { Subscription } from "./subscription.js";

/**
 * Yields the first item of a subscription that starts without history. The item contains the position at which the
 * subscriber can continue if the subscription is lost before the first message.
 */
export async function* beginning(position: string): AsyncGenerator<TopicItem> {
  yield { message: undefined, position };
}

/** Yields the messages of a log after a position, until the subscription to live messages ends. */
export async function* logged(
  log: TopicLog,
  name: string,
  codec: MessageCodec<unknown>,
  from: string,
  pace: TurnPace,
  live: Subscription,
): AsyncGenerator<TopicItem> {
  for await (const { bytes, position } of log.after(name, from)) {
    const turn = pace.turn();
    if (turn !== undefined) await turn;
    if (live.isOver) return;
    pace.count(1, bytes.length);
    yield loggedItem(codec, bytes, position);
  }
}

/**
 * Iterates over the messages of `history`, and then over the messages that `live` has received meanwhile and later. A
 * message in both is returned once.
 */
export function pastThenLive(history: AsyncIterable<TopicItem>, live: Subscription): AsyncIterableIterator<TopicItem> {
  const items = historyThenLive();
  async function* historyThenLive(): AsyncGenerator<TopicItem, undefined> {
    try {
      let last = 0;
      for await (const item of history) {
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
      // Live first: waiting for the next logged message could block.
      await live.return();
      return items.return(undefined);
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** Returns the integer at the end of an item's position. */
function orderOf({ position = "" }: TopicItem): number {
  return Number(/\d+$/.exec(position)?.[0]);
}
