import { rejectionAtCaller } from "../../callers-line.js";
import type { Position } from "./positions.js";
import { RpcError, whenExplained } from "../../errors.js";
import { Fifo } from "../../fifo.js";
import { Metadata } from "../../metadata.js";
import type { ItemIterator } from "../../platform-types.js";

export interface ItemStreamOwner {
  /**
   * Called when the consumer has read an item. `size` and `held` are the arguments of its `push`: the bytes of its
   * frame, and an estimate of its bytes in memory.
   */
  onTaken(size: number, held: number): void;
  /** Called once if the consumer stops before the end: it has left its loop or cancelled the stream. */
  onAbandoned(): void;
}

/** Metadata and trailers of a response. Both are empty until they arrive. */
export interface AnswerMetadata {
  readonly responseMetadata: Metadata;
  readonly trailers: Metadata;
}

/**
 * The items that a call receives, as a WHATWG `ReadableStream`. Its own iterator makes `for await` faster than a stream
 * reader. Leaving the loop, or cancelling the stream, cancels the call.
 */
export class ItemStream<Item> extends ReadableStream<Item> implements AnswerMetadata {
  readonly #queue: ItemQueue<Item>;

  /** @internal */
  constructor(queue: ItemQueue<Item>) {
    super(queue, { highWaterMark: 0 });
    this.#queue = queue;
  }

  /**
   * Response metadata of the callee. It arrives with the first item, and is empty before. In a handler it is always
   * empty.
   */
  get responseMetadata(): Metadata {
    return this.#queue.responseMetadata;
  }

  /**
   * Trailers of the callee. They arrive with the end of the stream, and are empty before. In a handler they are always
   * empty.
   */
  get trailers(): Metadata {
    return this.#queue.trailers;
  }

  /**
   * Cursor of the last item that was read; undefined if the items have no cursors. To continue after that item, pass it
   * as the call option `from`.
   */
  get cursor(): string | undefined {
    const { cursor } = this.#queue;
    return cursor === undefined ? undefined : String(cursor);
  }

  /** @internal Passes all items to `sink`; see `ItemQueue.feed`. */
  feed(sink: ItemSink<Item>): void {
    this.#queue.feed(sink);
  }

  /**
   * @internal Calls `listener` once, when the last item has arrived or the stream has failed or was cancelled. The
   * argument is the error of a failed call.
   */
  whenOver(listener: (error: Error | undefined) => void): void {
    this.#queue.whenOver(listener);
  }

  /**
   * Returns an iterator over the items, and locks the stream until the iteration ends. Leaving the loop cancels the
   * call, unless `preventCancel` is true.
   */
  override values(options?: { preventCancel?: boolean }): ItemIterator<Item> {
    return this.#queue.iterate(this.getReader(), options?.preventCancel);
  }

  override [Symbol.asyncIterator](options?: { preventCancel?: boolean }): ItemIterator<Item> {
    return this.values(options);
  }
}

/** An unread item, with the bytes of its frame (`size`) and an estimate of its bytes in memory (`bytes`). */
interface Held<Item> {
  readonly item: Item;
  readonly size: number;
  readonly bytes: number;
}

type Waiter<Item> = {
  resolve: (result: IteratorResult<Item, undefined> | Promise<never>) => void;
};

/** Receives the items of a stream by callbacks, instead of a reader. */
export interface ItemSink<Item> {
  /** Called before all other methods, with the stream that provides the items. */
  start(source: FedItems): void;
  push(item: Item, size: number, held: number): void;
  /**
   * Called once, when the stream has ended or was stopped by `FedItems.leave`. `error` is defined if the call failed.
   */
  end(error: Error | undefined): void;
}

/** Handle with which an `ItemSink` controls the stream that provides its items. */
export interface FedItems {
  /** Reports that the application has consumed an item. The arguments are those of the item's `push`. */
  resumed(size: number, held: number): void;
  leaveOnce(): void;
}

/**
 * A queue of received items that are not read yet. It has a single consumer: an iterator, a sink, or the reader of the
 * stream.
 */
export interface ItemQueue<Item> extends AsyncIterable<Item>, AnswerMetadata {
  /**
   * The stream of these items. For an attempt of a resumable call it is the queue itself, because creating a platform
   * `ReadableStream` is slow.
   */
  readonly stream: ItemStream<Item>;
  answer: AnswerMetadata | undefined;
  /** Cursor of the last item that was read. */
  cursor: Position | undefined;
  /** Whether an item or the end of the stream has arrived. */
  used: boolean;
  /**
   * Adds a received item.
   *
   * @param size bytes of the item's frame
   * @param queued estimate of the item's bytes in memory
   */
  push(item: Item, size: number, queued?: number): void;
  /** Ends the stream. Readers get the received items first, then `error` if it is defined. */
  end(error: Error | undefined): void;
  whenOver(listener: (error: Error | undefined) => void): void;
  /**
   * Adds all items of `items` to this queue, and returns a function that stops this. If `items` is not an `ItemStream`,
   * the next item is requested only after the application has read the one before.
   *
   * @param answer metadata and trailers of the response
   * @param onEnd called at the end of `items`; default: `end`
   */
  follow(
    items: AsyncIterable<Item>,
    answer: AnswerMetadata | undefined,
    onEnd?: (error: Error | undefined) => void,
  ): () => void;
  /** Passes all items to `sink`, those already received and those that follow. The stream must have no other reader. */
  feed(sink: ItemSink<Item>): void;
  /**
   * Implements `pull` of the platform's `UnderlyingSource`. Each read enqueues one item, because an iterator would miss
   * items in the controller's own queue.
   */
  pull(controller: ReadableStreamDefaultController<Item>): Promise<void> | undefined;
  /** Implements `cancel` of the platform's `UnderlyingSource`: drops unread items and stops the sender. */
  cancel(): void;
  /** Returns an iterator over the items. `lock` keeps other readers out until the iteration ends. */
  iterate(lock: Pick<ReadableStreamDefaultReader<Item>, "releaseLock">, preventCancel?: boolean): ItemIterator<Item>;
}

function doneResult(): { value: undefined; done: true } {
  return { value: undefined, done: true };
}

// Closures instead of a class, because bundlers do not shorten the names of class members.
export function itemQueue<Item>(firstOwner: ItemStreamOwner, ofAttempt = false): ItemQueue<Item> {
  let owner = firstOwner;
  const held = new Fifo<Held<Item>>();
  let endState: { readonly error: Error | undefined } | undefined;
  const waiters = new Fifo<Waiter<Item>>();
  let onOver: ((error: Error | undefined) => void) | undefined;
  let fed: ItemSink<Item> | undefined;
  let wakePull: (() => void) | undefined;
  /**
   * Ends the current iteration. While it is set, an iterator reads the items directly, and a pending `pull` must not
   * receive them.
   */
  let onTold: (() => void) | undefined;

  const wakeReader = (): void => {
    if (onTold !== undefined) return;
    const pull = wakePull;
    wakePull = undefined;
    pull?.();
  };
  const nextItem = (): Item => {
    const { item, size, bytes } = held.shift() as Held<Item>;
    owner.onTaken(size, bytes);
    return item;
  };
  /**
   * Settles a pending read at the end of the stream. Only the first read gets the error; later reads return `done`, as
   * with a generator.
   */
  const settle = ({ resolve }: Waiter<Item>): void => {
    const error = endState?.error;
    onTold?.();
    endState = { error: undefined };
    if (error === undefined) resolve(doneResult());
    else resolve(rejectionAtCaller(error));
  };

  const queue: Omit<ItemQueue<Item>, "stream"> = {
    answer: undefined,
    get responseMetadata() {
      return queue.answer?.responseMetadata ?? new Metadata();
    },
    get trailers() {
      return queue.answer?.trailers ?? new Metadata();
    },
    [Symbol.asyncIterator]: () => queue.iterate({ releaseLock() {} }),
    cursor: undefined,
    used: false,
    push(item, size, bytes = 0) {
      queue.used = true;
      if (fed !== undefined) {
        fed.push(item, size, bytes);
        return;
      }
      const waiter = waiters.length === 0 ? undefined : waiters.shift();
      if (waiter === undefined) {
        held.push({ item, size, bytes });
        wakeReader();
      } else {
        owner.onTaken(size, bytes);
        waiter.resolve({ value: item, done: false });
      }
    },
    end(error) {
      if (endState !== undefined) return;
      queue.used = true;
      const listener = onOver;
      onOver = undefined;
      listener?.(error);
      endState = { error };
      fed?.end(error);
      // `endState` is set, so reads that start during this loop are settled at once.
      for (let waiter = waiters.shift(); waiter !== undefined; waiter = waiters.shift()) settle(waiter);
      wakeReader();
    },
    whenOver(listener) {
      const before = onOver;
      if (endState !== undefined) listener(endState.error);
      else if (before === undefined) onOver = listener;
      else {
        onOver = (error) => {
          before(error);
          listener(error);
        };
      }
    },
    follow(items, answer, onEnd = (error) => queue.end(error)) {
      queue.answer = answer;
      const onAbandoned = (): void => firstOwner.onAbandoned();
      const end = (error: Error | undefined): void => {
        owner = firstOwner;
        onEnd(error);
      };
      if ("feed" in items) {
        let fedBy!: FedItems;
        (items as ItemStream<Item>).feed({
          start: (source) => {
            fedBy = source;
            owner = { onTaken: (size, bytes) => source.resumed(size, bytes), onAbandoned };
          },
          push: (item, size, bytes) => queue.push(item, size, bytes),
          end,
        });
        return () => fedBy.leaveOnce();
      }
      const source = items[Symbol.asyncIterator]();
      let onTaken: (() => void) | undefined;
      owner = { onTaken: () => onTaken?.(), onAbandoned };
      const pump = async (): Promise<void> => {
        for (;;) {
          // Declared in the loop body, so that the previous item can be garbage-collected while the next is awaited.
          const next = await source.next();
          if (next.done === true) return;
          const taken = new Promise<void>((resolve) => {
            onTaken = resolve;
          });
          queue.push(next.value, 1);
          await taken;
        }
      };
      pump().then(
        () => end(undefined),
        (error: unknown) => end(RpcError.from(error)),
      );
      return () => {
        Promise.resolve(source.return?.()).catch(() => {});
        onTaken?.();
      };
    },
    feed(sink) {
      fed = sink;
      sink.start({ resumed: (size, bytes) => owner.onTaken(size, bytes), leaveOnce: () => queue.cancel() });
      while (held.length > 0) {
        const { item, size, bytes } = held.shift() as Held<Item>;
        sink.push(item, size, bytes);
      }
      if (endState !== undefined) sink.end(endState.error);
    },
    pull(controller) {
      if (held.length > 0) {
        controller.enqueue(nextItem());
      } else if (endState === undefined) {
        return new Promise<void>((resolve) => (wakePull = resolve)).then(() => queue.pull(controller));
      } else if (endState.error !== undefined) {
        const { error } = endState;
        const explanation = whenExplained(error)?.then(() => controller.error(error));
        if (explanation === undefined) controller.error(error);
        return explanation;
      } else {
        controller.close();
      }
      return undefined;
    },
    cancel() {
      const { cursor } = queue;
      // Releases the flow control of unread items. `cursor` stays that of the last delivered item.
      while (held.length > 0) nextItem();
      queue.cursor = cursor;
      if (endState === undefined) {
        queue.end(undefined);
        owner.onAbandoned();
      }
      endState = { error: undefined };
    },
    iterate(lock, preventCancel) {
      let hasLeft = false;
      const leave = (): void => {
        if (hasLeft) return;
        hasLeft = true;
        onTold = undefined;
        if (held.length > 0 || endState !== undefined) wakeReader();
        lock.releaseLock();
      };
      const iterator: ItemIterator<Item> = {
        next() {
          if (hasLeft) return Promise.resolve(doneResult());
          if (held.length > 0) return Promise.resolve({ value: nextItem(), done: false });
          return new Promise((resolve) => {
            const waiter = { resolve };
            if (endState === undefined) waiters.push(waiter);
            else settle(waiter);
          });
        },
        async return() {
          if (!hasLeft && !preventCancel) queue.cancel();
          leave();
          return doneResult();
        },
        [Symbol.asyncIterator]: () => iterator,
        [Symbol.asyncDispose]: async () => void (await iterator.return()),
      };
      onTold = leave;
      return iterator;
    },
  };
  const created: unknown = queue;
  const stream = ofAttempt ? (created as ItemStream<Item>) : new ItemStream(created as ItemQueue<Item>);
  return Object.assign(queue, { stream });
}
