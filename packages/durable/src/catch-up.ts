import { RpcError, type StreamSource } from "@quicrpc/core";
import { type Awaitable, checkOptions, itemSource } from "@quicrpc/core/internal";

interface CatchUpOptions<Item> {
  readonly cursor: (item: Item) => string | number | bigint;
  /**
   * Maximum number of live items that wait while history is sent, and of history cursors that are stored to detect
   * duplicates. If more items wait, the stream fails with `unavailable`, and its caller continues automatically after
   * the last item that it has received. Default 1000.
   */
  readonly maxBuffered?: number;
}

/**
 * Returns a stream of past items followed by live items, without gaps and duplicates. Subscribes to `live` before it
 * reads `history`, and returns an item that both contain only once. A handler can return the result.
 * `context.resumeFrom` is the cursor after which history begins.
 *
 * @param history called after `live` is subscribed to
 * @param live an iterable that subscribes at its first `next`, or is already subscribed
 */
export function catchUp<Item>(
  history: () => Awaitable<StreamSource<Item>>,
  live: StreamSource<Item>,
  options: CatchUpOptions<Item>,
): AsyncIterableIterator<Item> {
  checkOptions("catchUp()", options, { cursor: true, maxBuffered: true });
  const { cursor, maxBuffered = 1000 } = options;
  const source = itemSource(live);
  const heard: Item[] = [];
  const state: { isPast: boolean; over: { readonly error?: unknown } | undefined } = { isPast: true, over: undefined };
  const listen = async (): Promise<void> => {
    while (state.isPast && state.over === undefined) {
      const { done, value } = await source.next();
      if (done === true) state.over ??= {};
      else if (heard.length < maxBuffered) heard.push(value as Item);
      else {
        state.over ??= { error: behind(maxBuffered) };
        void source.stop();
      }
    }
  };
  const listening = listen().catch((error: unknown) => {
    state.over = { error };
  });
  const throwFailure = (): void => {
    if (state.over !== undefined && "error" in state.over) throw state.over.error;
  };
  const items = give();
  async function* give(): AsyncGenerator<Item, void> {
    const recent = new Set<string>();
    for await (const item of iterable<Item>(await history())) {
      throwFailure();
      recent.add(String(cursor(item)));
      // The oldest, because the set is in insertion order.
      if (recent.size > maxBuffered) recent.delete(recent.keys().next().value as string);
      yield item;
    }
    const isNew = (item: Item): boolean => !recent.delete(String(cursor(item)));
    for (let item = heard.shift(); item !== undefined; item = heard.shift()) if (isNew(item)) yield item;
    state.isPast = false;
    await listening;
    for (const item of heard) if (isNew(item)) yield item;
    while (state.over === undefined) {
      const { done, value } = await source.next();
      if (done === true) return;
      if (isNew(value as Item)) yield value as Item;
    }
    throwFailure();
  }
  const iterator: AsyncIterableIterator<Item> = {
    next: () => items.next(),
    async return() {
      state.over ??= {};
      await source.stop();
      return items.return();
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

async function* iterable<Item>(given: StreamSource<Item>): AsyncGenerator<Item> {
  const source = itemSource(given);
  try {
    for (;;) {
      const { done, value } = await source.next();
      if (done === true) return;
      yield value as Item;
    }
  } finally {
    await source.stop();
  }
}

function behind(maxBuffered: number): RpcError {
  return new RpcError("unavailable", `more than ${maxBuffered} live items came while history was sent`, {
    hint: "raise maxBuffered, or send less history at once",
  });
}
