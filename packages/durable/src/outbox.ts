import { RpcError } from "@quicrpc/core";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { createOnceKey } from "./once-key.js";

/** Options of `createOutbox`. */
export interface OutboxOptions<Item> {
  /**
   * Sends items with one call, which has its own key. Pass the key as `onceKey` to a `once` method, or in the input of
   * an `idempotent` method. Use `retry()`, so that the call is repeated until it succeeds.
   */
  readonly send: (items: readonly Item[], key: string) => PromiseLike<unknown>;
  /** Maximum number of items in one call. Default 64. */
  readonly maxItems?: number | undefined;
  /**
   * Maximum number of waiting items. If it is reached, `full` is true and `add` throws `resource_exhausted`. Default
   * 10,000.
   */
  readonly maxWaiting?: number | undefined;
  /** Called if `send` rejects for `items`. They are removed, and later items are sent. Default: none. */
  readonly onError?: ((error: RpcError, items: readonly Item[], key: string) => void) | undefined;
}

const OPTIONS: OptionNames<OutboxOptions<never>> = { send: true, maxItems: true, maxWaiting: true, onError: true };

/** A queue that sends items in order, with one call after another. */
export interface Outbox<Item> {
  /** Items that no response has acknowledged yet. The items of the call in progress come first. */
  readonly waiting: readonly Item[];
  /** True if `add` would throw because too many items wait. */
  readonly full: boolean;
  /** Adds an item to the end of the queue. Throws `RpcError` `resource_exhausted` if too many items wait. */
  add(item: Item): void;
  /** Resolves when the queue is empty. */
  empty(): Promise<void>;
}

/**
 * Creates an outbox. It sends items in the order in which they were added, one call at a time. Items that are added
 * during a call are sent together in the next call. So no call overtakes a repeated one, and after a slow or lost
 * connection one larger call is made instead of many.
 */
export function createOutbox<Item>(options: OutboxOptions<Item>): Outbox<Item> {
  checkOptions("createOutbox()", options, OPTIONS);
  const { send, maxItems = 64, maxWaiting = 10_000, onError } = options;
  for (const [name, value] of Object.entries({ maxItems, maxWaiting })) {
    if (!(Number.isSafeInteger(value) && value > 0)) {
      throw new TypeError(`createOutbox({ ${name} }) takes a positive integer, not ${String(value)}`);
    }
  }
  const waiting: Item[] = [];
  let sending: Promise<void> | undefined;

  const sendSome = async (items: readonly Item[]): Promise<void> => {
    const key = createOnceKey();
    let failure: RpcError | undefined;
    try {
      await send(items, key);
    } catch (error) {
      failure = RpcError.from(error);
    }
    waiting.splice(0, items.length);
    if (failure !== undefined) onError?.(failure, items, key);
  };

  const sendAll = async (): Promise<void> => {
    // Items that are added in one turn leave together.
    await Promise.resolve();
    try {
      while (waiting.length > 0) await sendSome(waiting.slice(0, maxItems));
    } finally {
      sending = undefined;
    }
  };

  return {
    waiting,
    get full() {
      return waiting.length >= maxWaiting;
    },
    add(item) {
      if (waiting.length >= maxWaiting) {
        throw new RpcError("resource_exhausted", `${maxWaiting} items are waiting: the outbox is full`);
      }
      waiting.push(item);
      sending ??= sendAll();
    },
    empty: async () => sending,
  };
}
