import { type Deferred, deferred } from "../../deferred.js";
import { RpcError } from "../../errors.js";
import type { DuplexStream } from "../caller.js";
import {
  type AnswerMetadata,
  type FedItems,
  type ItemQueue,
  itemQueue,
  type ItemStream,
  type NewItemQueue,
} from "./item-stream.js";

/**
 * An `ItemStream` that exists before the stream whose items it delivers. If that is not an `ItemStream`, items are read
 * one at a time, at the pace of the reader.
 */
export class LateItems<Item> {
  readonly #queue: ItemQueue<Item>;
  readonly #onAbandoned: () => void;
  #source: AsyncIterator<Item> | undefined = undefined;
  #fed: FedItems | undefined = undefined;
  #onTaken: (() => void) | undefined = undefined;

  /** @param onAbandoned called if the reader stops before there is a stream to follow */
  constructor(onAbandoned: () => void, newQueue: NewItemQueue = itemQueue) {
    this.#onAbandoned = onAbandoned;
    this.#queue = newQueue<Item>({
      onTaken: (size, held) => {
        this.#fed?.taken(size, held);
        this.#onTaken?.();
        this.#onTaken = undefined;
      },
      onAbandoned: () => {
        if (this.#fed !== undefined) this.#fed.leave();
        else if (this.#source === undefined) this.#onAbandoned();
        else Promise.resolve(this.#source.return?.()).catch(() => {});
        this.#onTaken?.();
      },
    });
  }

  get stream(): ItemStream<Item> {
    return this.#queue.stream;
  }

  /** @param answer metadata that belongs to `items` */
  follow(items: AsyncIterable<Item>, answer: AnswerMetadata): void {
    const queue = this.#queue;
    queue.answer = answer;
    if ("feed" in items) {
      (items as ItemStream<Item>).feed({
        start: (source) => {
          this.#fed = source;
        },
        push: (item: Item, size, held) => queue.push(item, size, held),
        end: (error) => queue.end(error),
      });
      return;
    }
    this.#source = items[Symbol.asyncIterator]();
    void this.#pump(this.#source);
  }

  fail(error: RpcError): void {
    this.#queue.end(error);
  }

  async #pump(source: AsyncIterator<Item>): Promise<void> {
    try {
      for (;;) {
        const next = await source.next();
        if (next.done === true) break;
        const taken = new Promise<void>((resolve) => {
          this.#onTaken = resolve;
        });
        this.#queue.push(next.value, 1);
        await taken;
      }
      this.#queue.end(undefined);
    } catch (error) {
      this.#queue.end(RpcError.from(error));
    }
  }
}

/** Both directions of a duplex call, available before the call is made. */
export class LateDuplex<Sent, Result> implements DuplexStream<Sent, Result> {
  readonly writable: WritableStream<Sent>;
  readonly #items: LateItems<Result>;
  #controller!: WritableStreamDefaultController;
  /** Rejects if the call fails first: a pending write must settle, or the stream never errors. */
  readonly #writer: Deferred<WritableStreamDefaultWriter<Sent>> = deferred();
  #following: WritableStreamDefaultWriter<Sent> | undefined = undefined;

  /** @param onAbandoned called when the caller cancels before there is a call to follow */
  constructor(onAbandoned: () => void) {
    const giveUp = (error: RpcError): void => {
      onAbandoned();
      this.fail(error);
    };
    this.#items = new LateItems(() => giveUp(new RpcError("cancelled", "the caller wants no more items")));
    this.writable = new WritableStream<Sent>({
      start: (controller) => {
        this.#controller = controller;
        // The sink's own `abort` would come only after a write that waits. In a microtask, since Node does not bear a
        // stream that fails while its signal fires.
        const { signal } = controller;
        const onAbort = (): void => {
          if (this.#following === undefined) giveUp(RpcError.from(signal.reason, "cancelled"));
          else this.#following.abort(signal.reason).catch(() => {});
        };
        signal.addEventListener("abort", () => queueMicrotask(onAbort));
      },
      write: async (item) => (await this.#writer.promise).write(item),
      close: async () => (await this.#writer.promise).close(),
    });
    this.#writer.promise.catch(() => {});
  }

  get readable(): ItemStream<Result> {
    return this.#items.stream;
  }

  follow({ readable, writable }: DuplexStream<Sent, Result>): void {
    this.#following = writable.getWriter();
    this.#following.closed.catch((error: unknown) => this.#controller.error(error));
    this.#writer.resolve(this.#following);
    this.#items.follow(readable, readable);
  }

  fail(error: RpcError): void {
    this.#controller.error(error);
    this.#writer.reject(error);
    this.#items.fail(error);
  }
}
