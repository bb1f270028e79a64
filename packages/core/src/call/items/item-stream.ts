import { rejectionAtCaller } from "../../callers-line.js";
import type { Position } from "./positions.js";
import { RpcError, whenExplained } from "../../errors.js";
import { Fifo } from "../../fifo.js";
import { Metadata } from "../../metadata.js";
import type { ItemIterator } from "../../platform-types.js";

/** The side that feeds an `ItemStream`. */
export interface ItemStreamOwner {
  /** The consumer has taken an item that was pushed with this size, and this estimate of the memory it holds. */
  onTaken(size: number, held: number): void;
  /** Called once, if the consumer stops before the end: it left its loop, or cancelled the stream. */
  onAbandoned(): void;
}

/** Metadata that a callee sends in addition to its items; empty until it has arrived. */
export interface AnswerMetadata {
  readonly responseMetadata: Metadata;
  readonly trailers: Metadata;
}

/**
 * The messages that a call receives: a WHATWG `ReadableStream` with an iterator of its own, so that `for await` gets
 * received items without the overhead of a reader. Leaving the loop, or cancelling the stream, cancels the call.
 */
export class ItemStream<Item> extends ReadableStream<Item> implements AnswerMetadata {
  readonly #queue: ItemQueue<Item>;

  /** @internal */
  constructor(queue: ItemQueue<Item>) {
    super(queue, { highWaterMark: 0 });
    this.#queue = queue;
  }

  /** The callee's metadata, which arrives with the first item; empty before, and on the callee's own side. */
  get responseMetadata(): Metadata {
    return this.#queue.responseMetadata;
  }

  /** The callee's trailers, which arrive with the end of the stream; empty before, and on the callee's own side. */
  get trailers(): Metadata {
    return this.#queue.trailers;
  }

  /**
   * The cursor of the last item that was taken, in streams whose items have cursors. Pass it as the option `from` of a
   * call that continues after that item.
   */
  get cursor(): string | undefined {
    const { cursor } = this.#queue;
    return cursor === undefined ? undefined : String(cursor);
  }

  /** @internal See `ItemQueue.feed`. */
  feed(sink: ItemSink<Item>): void {
    this.#queue.feed(sink);
  }

  /** @internal Calls `listener` once, when the last item has arrived or none will: with the call's error, if it failed. */
  whenOver(listener: (error: Error | undefined) => void): void {
    this.#queue.whenOver(listener);
  }

  /** Iterates over the items; leaving the loop cancels the call unless `preventCancel`. Locks the stream meanwhile. */
  override values(options?: { preventCancel?: boolean }): ItemIterator<Item> {
    return this.#queue.iterate(this.getReader(), options?.preventCancel);
  }

  override [Symbol.asyncIterator](options?: { preventCancel?: boolean }): ItemIterator<Item> {
    return this.values(options);
  }
}

/** An item that was not yet taken, with its size and the bytes that it holds. */
interface Held<Item> {
  readonly item: Item;
  readonly size: number;
  readonly bytes: number;
}

type Waiter<Item> = {
  resolve: (result: IteratorResult<Item, undefined> | Promise<never>) => void;
};

/** Destination of the items of a stream without a reader. */
export interface ItemSink<Item> {
  /** Called first, with the source of the items. */
  start(source: FedItems): void;
  /** Same as `ItemQueue.push`. */
  push(item: Item, size: number, held: number): void;
  /** Called once, unless the source was left. */
  end(error: Error | undefined): void;
}

/** The stream that feeds a sink, as the sink sees it. */
export interface FedItems {
  /** Called for each item when it is consumed, with the arguments of its `push`. */
  taken(size: number, held: number): void;
  /** Stops the source, because no more items are needed. */
  leave(): void;
}

/** Items that have arrived and were not read yet, with one consumer: an iterator or the stream's reader. */
export interface ItemQueue<Item> extends AsyncIterable<Item>, AnswerMetadata {
  /** The stream. For an attempt it is the queue itself, because creating the platform's stream costs more than the rest of it. */
  readonly stream: ItemStream<Item>;
  answer: AnswerMetadata | undefined;
  /** The cursor of the last item that was taken. */
  cursor: Position | undefined;
  /** Whether an item or the end has arrived. */
  used: boolean;
  /** @param held bytes that it takes, by estimate */
  push(item: Item, size: number, held?: number): void;
  /** Ends the stream. The error, if there is one, is thrown after the received items were read. */
  end(error: Error | undefined): void;
  whenOver(listener: (error: Error | undefined) => void): void;
  /**
   * Passes on the items of another stream, and returns a function that leaves it. If it is not an `ItemStream`, items are
   * read one at a time, at the pace of the reader.
   *
   * @param onEnd called at the end, in place of `end`
   */
  follow(
    items: AsyncIterable<Item>,
    answer: AnswerMetadata | undefined,
    onEnd?: (error: Error | undefined) => void,
  ): () => void;
  /** Passes on the items that have arrived and those that arrive later; the stream then has no other reader. */
  feed(sink: ItemSink<Item>): void;
  /**
   * Implements `pull` of an underlying source: one item for each read, because items in the controller's own queue
   * would be lost to an iterator.
   */
  pull(controller: ReadableStreamDefaultController<Item>): Promise<void> | undefined;
  /** Implements `cancel` of an underlying source: stops the sender. */
  cancel(): void;
  /** Passes the items to an iterator, until the end or until it is left; `lock` prevents other readers meanwhile. */
  iterate(lock: Pick<ReadableStreamDefaultReader<Item>, "releaseLock">, preventCancel?: boolean): ItemIterator<Item>;
}

function over(): { value: undefined; done: true } {
  return { value: undefined, done: true };
}

// Closures instead of a class: bundlers for pages do not shorten names of members.
export function itemQueue<Item>(firstOwner: ItemStreamOwner, ofAttempt = false): ItemQueue<Item> {
  let owner = firstOwner;
  const held = new Fifo<Held<Item>>();
  let ending: { readonly error: Error | undefined } | undefined;
  const waiters = new Fifo<Waiter<Item>>();
  let onOver: ((error: Error | undefined) => void) | undefined;
  let fed: ItemSink<Item> | undefined;
  let wakePull: (() => void) | undefined;
  /** An iterator reads the items itself. A read that is still pending from before must not receive them. */
  let onTold: (() => void) | undefined;

  const wake = (): void => {
    if (onTold !== undefined) return;
    const pull = wakePull;
    wakePull = undefined;
    pull?.();
  };
  const take = (): Item => {
    const { item, size, bytes } = held.shift() as Held<Item>;
    owner.onTaken(size, bytes);
    return item;
  };
  /** An error is thrown once; after it the iteration is over, as for a generator. */
  const settle = ({ resolve }: Waiter<Item>): void => {
    const error = ending?.error;
    onTold?.();
    ending = { error: undefined };
    if (error === undefined) resolve(over());
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
        wake();
      } else {
        owner.onTaken(size, bytes);
        waiter.resolve({ value: item, done: false });
      }
    },
    end(error) {
      if (ending !== undefined) return;
      queue.used = true;
      const listener = onOver;
      onOver = undefined;
      listener?.(error);
      ending = { error };
      fed?.end(error);
      // Reads that start meanwhile are settled at once.
      for (let waiter = waiters.shift(); waiter !== undefined; waiter = waiters.shift()) settle(waiter);
      wake();
    },
    whenOver(listener) {
      const before = onOver;
      if (ending !== undefined) listener(ending.error);
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
            owner = { onTaken: (size, bytes) => source.taken(size, bytes), onAbandoned };
          },
          push: (item, size, bytes) => queue.push(item, size, bytes),
          end,
        });
        return () => fedBy.leave();
      }
      const source = items[Symbol.asyncIterator]();
      let onTaken: (() => void) | undefined;
      owner = { onTaken: () => onTaken?.(), onAbandoned };
      const pump = async (): Promise<void> => {
        for (;;) {
          // In the block, so that nothing holds an item while the next is awaited.
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
      sink.start({ taken: (size, bytes) => owner.onTaken(size, bytes), leave: () => queue.cancel() });
      while (held.length > 0) {
        const { item, size, bytes } = held.shift() as Held<Item>;
        sink.push(item, size, bytes);
      }
      if (ending !== undefined) sink.end(ending.error);
    },
    pull(controller) {
      if (held.length > 0) {
        controller.enqueue(take());
      } else if (ending === undefined) {
        return new Promise<void>((resolve) => (wakePull = resolve)).then(() => queue.pull(controller));
      } else if (ending.error !== undefined) {
        const { error } = ending;
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
      // Unread items no longer apply backpressure, and were not delivered.
      while (held.length > 0) take();
      queue.cursor = cursor;
      if (ending === undefined) {
        queue.end(undefined);
        owner.onAbandoned();
      }
      ending = { error: undefined };
    },
    iterate(lock, preventCancel) {
      let left = false;
      const leave = (): void => {
        if (left) return;
        left = true;
        onTold = undefined;
        if (held.length > 0 || ending !== undefined) wake();
        lock.releaseLock();
      };
      const iterator: ItemIterator<Item> = {
        next() {
          if (left) return Promise.resolve(over());
          if (held.length > 0) return Promise.resolve({ value: take(), done: false });
          return new Promise((resolve) => {
            const waiter = { resolve };
            if (ending === undefined) waiters.push(waiter);
            else settle(waiter);
          });
        },
        async return() {
          if (!left && !preventCancel) queue.cancel();
          leave();
          return over();
        },
        [Symbol.asyncIterator]: () => iterator,
        [Symbol.asyncDispose]: async () => void (await iterator.return()),
      };
      onTold = leave;
      return iterator;
    },
  };
  const made: unknown = queue;
  const stream = ofAttempt ? (made as ItemStream<Item>) : new ItemStream(made as ItemQueue<Item>);
  return Object.assign(queue, { stream });
}
