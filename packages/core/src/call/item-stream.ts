import { Metadata } from "../metadata.js";

/** What feeds an `ItemStream`. */
export interface ItemStreamOwner {
  /** The consumer has taken an item that was pushed with this size. */
  onTaken(size: number): void;
  /** The consumer wants no more: it left its loop, or cancelled the stream. Called once, and not after the end. */
  onAbandoned(): void;
}

/** What a callee said beside its items; empty until it has. */
export interface AnswerMetadata {
  readonly metadata: Metadata;
  readonly trailers: Metadata;
}

/**
 * The messages a call receives: a WHATWG `ReadableStream` that is also iterated directly, so that `for await` takes
 * what has arrived without the machinery of a reader. Leaving the loop, or cancelling, cancels the call.
 */
export class ItemStream<Item> extends ReadableStream<Item> implements AnswerMetadata {
  readonly #queue: ItemQueue<Item>;

  /** @internal */
  constructor(queue: ItemQueue<Item>) {
    super(
      {
        pull: (controller) => queue.pull(controller),
        cancel: () => queue.abandon(),
      },
      { highWaterMark: 0 },
    );
    this.#queue = queue;
  }

  /** The callee's metadata, at hand with its first item; until then, and on the callee's own side, empty. */
  get metadata(): Metadata {
    return this.#queue.answer?.metadata ?? new Metadata();
  }

  /** The callee's trailers, at hand once the stream has ended; until then, and on the callee's own side, empty. */
  get trailers(): Metadata {
    return this.#queue.answer?.trailers ?? new Metadata();
  }

  /** @internal Told once, when the last item has arrived or none will: with the call's error, if it failed. */
  whenOver(listener: (error: Error | undefined) => void): void {
    this.#queue.whenOver(listener);
  }

  /** Iterates over the items; leaving the loop cancels the call unless `preventCancel`. Locks the stream meanwhile. */
  override values(options?: ReadableStreamIteratorOptions): ReadableStreamAsyncIterator<Item> {
    return new ItemIterator(this.#queue, this.getReader(), options?.preventCancel ?? false);
  }

  override [Symbol.asyncIterator](options?: ReadableStreamIteratorOptions): ReadableStreamAsyncIterator<Item> {
    return this.values(options);
  }
}

type Waiter<Item> = { resolve(result: IteratorResult<Item, undefined>): void; reject(error: unknown): void };
type Ending = { readonly error: Error | undefined };

/** Items that have arrived and were not read yet, with one consumer: an iterator or the stream's reader. */
export class ItemQueue<Item> {
  readonly stream: ItemStream<Item>;
  answer: AnswerMetadata | undefined;
  private items: Item[] = [];
  private sizes: number[] = [];
  private head = 0;
  private ending: Ending | undefined;
  private onOver: ((error: Error | undefined) => void) | undefined;
  private waiters: Waiter<Item>[] = [];
  private wakePull: (() => void) | undefined;
  /** An iterator takes the items itself. A read that was left pending before must not take them from it. */
  private iterator: { onTold(): void } | undefined;
  private readonly owner: ItemStreamOwner;

  constructor(owner: ItemStreamOwner) {
    this.owner = owner;
    this.stream = new ItemStream(this);
  }

  push(item: Item, size: number): void {
    const waiter = this.waiters.shift();
    if (waiter !== undefined) {
      this.owner.onTaken(size);
      waiter.resolve({ value: item, done: false });
      return;
    }
    this.items.push(item);
    this.sizes.push(size);
    this.wake();
  }

  /** Nothing more comes; the error, if any, is thrown once what has arrived is read. */
  end(error: Error | undefined): void {
    if (this.ending !== undefined) return;
    this.ending = { error };
    const { waiters } = this;
    this.waiters = [];
    for (const waiter of waiters) this.settle(waiter);
    this.wake();
    this.onOver?.(error);
  }

  whenOver(listener: (error: Error | undefined) => void): void {
    if (this.ending === undefined) this.onOver = listener;
    else listener(this.ending.error);
  }

  /** Gives the items to an iterator; undefined gives them back to the stream's readers. */
  giveTo(iterator: { onTold(): void } | undefined): void {
    this.iterator = iterator;
    if (this.head < this.items.length || this.ending !== undefined) this.wake();
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    if (this.head < this.items.length) return Promise.resolve({ value: this.take(), done: false });
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (this.ending === undefined) this.waiters.push(waiter);
      else this.settle(waiter);
    });
  }

  /** One item for each read: what is in the controller's own queue would be lost to an iterator. */
  pull(controller: ReadableStreamDefaultController<Item>): Promise<void> | void {
    if (this.head < this.items.length) {
      controller.enqueue(this.take());
    } else if (this.ending === undefined) {
      return new Promise<void>((resolve) => {
        this.wakePull = resolve;
      }).then(() => this.pull(controller));
    } else if (this.ending.error !== undefined) {
      controller.error(this.ending.error);
    } else {
      controller.close();
    }
  }

  abandon(): void {
    // Unread items hold nobody back any more.
    while (this.head < this.items.length) this.take();
    if (this.ending?.error !== undefined) this.ending = { error: undefined };
    if (this.ending !== undefined) return;
    this.end(undefined);
    this.owner.onAbandoned();
  }

  private take(): Item {
    const at = this.head++;
    const item = this.items[at] as Item;
    this.owner.onTaken(this.sizes[at] as number);
    if (this.head === this.items.length) {
      this.items = [];
      this.sizes = [];
      this.head = 0;
    }
    return item;
  }

  /** An error is thrown once; after it the sequence is over, as a generator's. */
  private settle(waiter: Waiter<Item>): void {
    const error = this.ending?.error;
    this.iterator?.onTold();
    if (error === undefined) {
      waiter.resolve({ value: undefined, done: true });
      return;
    }
    this.ending = { error: undefined };
    waiter.reject(error);
  }

  private wake(): void {
    if (this.iterator !== undefined) return;
    const { wakePull } = this;
    this.wakePull = undefined;
    wakePull?.();
  }
}

class ItemIterator<Item> implements ReadableStreamAsyncIterator<Item> {
  private readonly queue: ItemQueue<Item>;
  private readonly lock: ReadableStreamDefaultReader<Item>;
  private readonly preventCancel: boolean;
  private over = false;

  constructor(queue: ItemQueue<Item>, lock: ReadableStreamDefaultReader<Item>, preventCancel: boolean) {
    this.queue = queue;
    this.lock = lock;
    this.preventCancel = preventCancel;
    queue.giveTo(this);
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    return this.over ? Promise.resolve({ value: undefined, done: true }) : this.queue.next();
  }

  return(): Promise<IteratorResult<Item, undefined>> {
    if (!this.over && !this.preventCancel) this.queue.abandon();
    this.onTold();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** The end has been delivered, or is not wanted: readers may have the stream. */
  onTold(): void {
    if (this.over) return;
    this.over = true;
    this.queue.giveTo(undefined);
    this.lock.releaseLock();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
