import { RpcError } from "@quicrpc/core";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { createOnceKey } from "./once-key.js";

/** Options of `createOutbox`. */
export interface OutboxOptions<Item> {
  /**
   * Sends items with one call, which has its own key. Pass the key as `onceKey` to a `once` method, or in the input of
   * an `idempotent` one. Let `retry()` repeat the call until it is answered.
   */
  readonly send: (items: readonly Item[], key: string) => PromiseLike<unknown>;
  /** Most items of one call. Default 64. */
  readonly maxItems?: number | undefined;
  /** Most items that wait. Beyond it, `add` throws `resource_exhausted`; `full` tells so in advance. Default 10,000. */
  readonly maxWaiting?: number | undefined;
  /** Called if `send` fails for good; later items are sent nevertheless. Default: none. */
  readonly onError?: ((error: RpcError, items: readonly Item[], key: string) => void) | undefined;
}

const OPTIONS: OptionNames<OutboxOptions<never>> = { send: true, maxItems: true, maxWaiting: true, onError: true };

/** Sends items in order, with one call after the other. */
export interface Outbox<Item> {
  /** Items that have not been acknowledged by a response. The items of the call in progress come first. */
  readonly waiting: readonly Item[];
  /** Whether `add` would throw. */
  readonly full: boolean;
  /** Adds an item to the end. Throws `RpcError` `resource_exhausted` if too many wait. */
  add(item: Item): void;
  /** Resolves when no item waits. */
  empty(): Promise<void>;
}

/**
 * Creates an outbox. Items leave in the order in which they were added, one call at a time; items that are added
 * meanwhile leave together with the next call. So a repeated call overtakes no other, and after a slow or lost
 * connection there is one larger call instead of a queue.
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
