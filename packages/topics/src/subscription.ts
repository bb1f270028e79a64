import { type Code, RpcError } from "@quicrpc/core";
import { Fifo, type ItemIterator, untracedError } from "@quicrpc/core/internal";
import type { Delivery, TopicItem } from "./delivery.js";
import type { TopicLimits } from "./limits.js";

/** Counts the bytes that wait for all subscribers of one process. */
export interface SubscriberBytes {
  bytes: number;
  /** Removes waiting messages of subscribers if there are more bytes than permitted. */
  relieve(): void;
}

export interface SubscriptionSettings {
  /**
   * What happens if the subscriber is too slow. "drop": it loses the oldest messages and receives their number. "end":
   * the subscription ends with `resource_exhausted`. "resume": the subscription ends with `unavailable`, so that the
   * subscriber continues after its last message.
   */
  readonly slow: "drop" | "end" | "resume";
  readonly limits: TopicLimits;
  readonly queuedTotal: SubscriberBytes;
  /** Called once when the subscription has ended. */
  readonly onEnd: (subscription: Subscription) => void;
}

type Step = IteratorResult<TopicItem, undefined>;

interface Waiter {
  readonly resolve: (step: Step) => void;
  readonly reject: (error: RpcError) => void;
}

const DONE: Step = { done: true, value: undefined };

/**
 * Subscription of one subscriber to one topic. Messages that the subscriber has not read yet wait in a queue, within
 * limits.
 */
export class Subscription implements ItemIterator<TopicItem> {
  /**
   * Resolves when all messages that are published from now on will arrive. For a topic with history, the result is a
   * position after which all messages will arrive.
   */
  ready: Promise<string | undefined> = Promise.resolve(undefined);
  private readonly settings: SubscriptionSettings;
  private readonly queue: Fifo<Delivery> = new Fifo();
  /** Estimated size in bytes of the waiting messages. */
  queuedBytes = 0;
  /** Number of messages that were removed before the first waiting one. */
  private dropped = 0;
  private waiter: Waiter | undefined = undefined;
  isOver = false;
  private error: RpcError | undefined = undefined;

  constructor(settings: SubscriptionSettings) {
    this.settings = settings;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(delivery: Delivery): void {
    const { waiter } = this;
    if (waiter !== undefined) {
      this.waiter = undefined;
      waiter.resolve({ done: false, value: this.itemOf(delivery) });
      return;
    }
    const { queuedTotal, limits, slow } = this.settings;
    if (delivery.holders++ === 0) queuedTotal.bytes += delivery.size;
    this.queue.push(delivery);
    this.queuedBytes += delivery.size;
    while (this.queue.length > 1 && this.isFull(limits)) {
      if (slow !== "drop") {
        this.dropWaiting();
        return;
      }
      this.dropOldest();
    }
    if (queuedTotal.bytes > limits.maxHeldBytes) queuedTotal.relieve();
  }

  /**
   * Removes the older half of the waiting messages. Removes all of them and ends the subscription instead if `slow` is
   * not "drop".
   */
  dropWaiting(): void {
    const { slow, limits } = this.settings;
    if (slow === "drop") {
      for (let count = Math.ceil(this.queue.length / 2); count > 0; count--) this.dropOldest();
      return;
    }
    this.drop();
    this.end(tooSlow(slow === "end" ? "resource_exhausted" : "unavailable", limits));
  }

  next(): Promise<Step> {
    const delivery = this.nextDelivery();
    if (delivery !== undefined) return Promise.resolve({ done: false, value: this.itemOf(delivery) });
    if (this.isOver) {
      const { error } = this;
      this.error = undefined;
      return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
    }
    if (this.waiter !== undefined) {
      return Promise.reject(
        new RpcError("failed_precondition", "the last next() of this subscription has not settled"),
      );
    }
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
    });
  }

  return(): Promise<Step> {
    this.drop();
    this.end(undefined);
    return Promise.resolve(DONE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Ends the subscription after the waiting messages. `error` is undefined if the subscriber itself has ended it. */
  end(error: RpcError | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    const { waiter } = this;
    this.waiter = undefined;
    if (waiter === undefined) this.error = error;
    else if (error === undefined) waiter.resolve(DONE);
    else waiter.reject(error);
    this.settings.onEnd(this);
  }

  private isFull({ maxQueuedMessages, maxQueuedBytes }: TopicLimits): boolean {
    return this.queue.length > maxQueuedMessages || this.queuedBytes > maxQueuedBytes;
  }

  private dropOldest(): void {
    this.nextDelivery();
    this.dropped++;
  }

  private drop(): void {
    while (this.nextDelivery() !== undefined);
  }

  private nextDelivery(): Delivery | undefined {
    const delivery = this.queue.shift();
    if (delivery === undefined) return undefined;
    this.queuedBytes -= delivery.size;
    if (--delivery.holders === 0) this.settings.queuedTotal.bytes -= delivery.size;
    return delivery;
  }

  private itemOf({ item }: Delivery): TopicItem {
    const { dropped } = this;
    if (dropped === 0) return item;
    this.dropped = 0;
    return { ...item, lost: dropped };
  }
}

function tooSlow(code: Code, { maxQueuedMessages }: TopicLimits): RpcError {
  return untracedError(
    code,
    `the subscriber is too slow: more than ${maxQueuedMessages} messages, or as many bytes as may, wait for it`,
  );
}
