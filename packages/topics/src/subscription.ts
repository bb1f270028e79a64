import { type Code, RpcError } from "@quicrpc/core";
import { Fifo, type ItemIterator, untracedError } from "@quicrpc/core/internal";
import type { Delivery, TopicItem } from "./delivery.js";
import type { TopicLimits } from "./limits.js";

/** Counts the bytes that wait for the subscribers of one process. */
export interface SubscriberBytes {
  bytes: number;
  /** Drops waiting messages of subscribers if there are more bytes than allowed. */
  relieve(): void;
}

/** Settings of a subscription. */
export interface SubscriptionSettings {
  /**
   * What happens to a subscriber that is too slow: it loses the oldest messages and is told how many ("drop"), it is
   * ended with `resource_exhausted` ("end"), or it is ended with `unavailable` so that it can continue after its last
   * message ("resume").
   */
  readonly slow: "drop" | "end" | "resume";
  readonly limits: TopicLimits;
  readonly queuedTotal: SubscriberBytes;
  /** Called once, when the subscription is over. */
  readonly onEnd: (subscription: Subscription) => void;
}

type Step = IteratorResult<TopicItem, undefined>;

interface Waiter {
  readonly resolve: (step: Step) => void;
  readonly reject: (error: RpcError) => void;
}

const DONE: Step = { done: true, value: undefined };

/** The messages of one topic for one subscriber. Messages that it has not read yet wait in a queue, within limits. */
export class Subscription implements ItemIterator<TopicItem> {
  /** Resolves when all messages published from now on arrive. With history, it resolves to a position after which all messages arrive. */
  ready: Promise<string | undefined> = Promise.resolve(undefined);
  private readonly settings: SubscriptionSettings;
  private readonly queue: Fifo<Delivery> = new Fifo();
  /** Bytes of the waiting messages. */
  queuedBytes = 0;
  /** Number of messages dropped before the first waiting one. */
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

  /** Drops the older half of the waiting messages, if there are any; or drops all and ends, depending on `slow`. */
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

  /** Ends the subscription after the waiting messages, with an error unless the subscriber itself ended it. */
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
