import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { asError, checkOptions, type ErrorHook, errorHook, type OptionNames, TurnPace } from "@quicrpc/core/internal";
import type { TopicBus, TopicLog, TopicReceiver } from "./bus.js";
import { type Delivery, deliveryOf, encodedBy, type TopicItem } from "./delivery.js";
import { DEFAULT_TOPIC_LIMITS, type TopicLimits } from "./limits.js";
import { MemoryLog } from "./memory-log.js";
import { type SubscriberBytes, Subscription } from "./subscription.js";

/**
 * Cost of a publication, counted as this many deliveries to subscribers: for validation and for creating the topic's
 * name.
 */
const PUBLISH_DELIVERIES = 10;
/**
 * Number of deliveries of up to 1 KiB after which publishers, and readers of history, wait for the next turn of the
 * event loop.
 */
const TURN_DELIVERIES = 2000;
/** Share of `maxHeldBytes` that may remain in use after messages were removed. */
const KEPT_SHARE = 15 / 16;

/** Options of `createTopics`. */
export interface TopicsOptions {
  /**
   * Message bus that carries messages to and from other processes. Default: none, so all subscribers must be in this
   * process.
   */
  readonly bus?: TopicBus | undefined;
  /**
   * Log that stores the messages of topics with history. Default: the log of the bus, if the bus has one; without a
   * bus, the memory of this process.
   */
  readonly log?: TopicLog | undefined;
  /** Limits on the memory that subscribers may use. Default: `DEFAULT_TOPIC_LIMITS`. */
  readonly limits?: Partial<TopicLimits> | undefined;
  /**
   * Receives errors that no caller receives, such as a message from the bus that does not match its schema. Default:
   * prints them to the console.
   */
  readonly onError?: ErrorHook | undefined;
}

/** Counters of the topics of one process. */
export interface TopicsStats {
  /** Number of topics that have subscribers in this process. */
  readonly topics: number;
  readonly subscriptions: number;
  /** Estimated size in bytes of the waiting messages, each counted once. */
  readonly heldBytes: number;
}

/** The topics of a process: its subscribers, and the bus to other processes. Several services can share it. */
export interface Topics {
  stats(): TopicsStats;
  /** Ends all subscriptions with `unavailable` and closes the bus. Publishing fails afterwards. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS: OptionNames<TopicsOptions> = { bus: true, log: true, limits: DEFAULT_TOPIC_LIMITS, onError: true };

/** Creates the topics of a process. Pass the result to the generated functions of services with topics. */
export function createTopics(options: TopicsOptions = {}): Topics {
  checkOptions("createTopics()", options, OPTIONS);
  return new TopicHub(options);
}

/** Returns the implementation of `topics`. Throws `TypeError` if `topics` was not created by `createTopics`. */
export function hubOf(topics: Topics): TopicHub {
  if (topics instanceof TopicHub) return topics;
  throw new TypeError(
    "topics are made by createTopics(), or by a package for a broker; two copies of @quicrpc/topics may be installed",
  );
}

/** The subscribers of one topic in this process, with their common subscription to the bus. */
class TopicChannel implements TopicReceiver {
  readonly subscribers: Set<Subscription> = new Set();
  tap: { readonly ready: Promise<unknown>; end(): void } | undefined = undefined;
  /** Position of the last message. "0" if there is none or the topic has no history. */
  position = "0";
  private readonly name: string;
  private readonly codec: MessageCodec<unknown>;
  private readonly onError: ErrorHook;
  private readonly pace: TurnPace;

  constructor(name: string, codec: MessageCodec<unknown>, onError: ErrorHook, pace: TurnPace) {
    this.name = name;
    this.codec = codec;
    this.onError = onError;
    this.pace = pace;
  }

  message(bytes: Uint8Array, position?: string): void {
    let delivery: Delivery;
    try {
      delivery = deliveryOf(this.codec, bytes, position);
    } catch (error) {
      this.onError(new Error(`a message of the bus does not fit topic ${this.name}: ${asError(error).message}`), {
        method: this.name,
      });
      return;
    }
    if (position !== undefined) this.position = position;
    this.pace.count(this.subscribers.size, bytes.length);
    for (const subscriber of this.subscribers) subscriber.push(delivery);
  }

  interrupted(reason: string): void {
    this.end(new RpcError("unavailable", `messages of the topic may be missing: ${reason}`));
  }

  end(error: RpcError): void {
    for (const subscriber of this.subscribers) subscriber.end(error);
  }
}

export class TopicHub implements Topics {
  /** Log that stores the messages of topics with history. Undefined if there is none. */
  readonly log: TopicLog | undefined;
  /** Makes publishers and readers of history wait for the next turn of the event loop after many deliveries. */
  readonly pace: TurnPace = new TurnPace(TURN_DELIVERIES);
  private readonly bus: TopicBus | undefined;
  private readonly limits: TopicLimits;
  private readonly onError: ErrorHook;
  private readonly channels: Map<string, TopicChannel> = new Map();
  private readonly queuedTotal: SubscriberBytes = { bytes: 0, relieve: () => this.relieve() };
  private subscriptions = 0;
  private closing: Promise<void> | undefined = undefined;

  constructor({ bus, log, limits, onError }: TopicsOptions) {
    this.bus = bus;
    this.limits = { ...DEFAULT_TOPIC_LIMITS, ...limits };
    this.onError = errorHook(onError);
    this.log = log ?? (bus === undefined ? new MemoryLog(this.limits) : bus.log);
  }

  stats(): TopicsStats {
    return { topics: this.channels.size, subscriptions: this.subscriptions, heldBytes: this.queuedTotal.bytes };
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Encodes an item with `codec` and publishes it. Uses `log` if the topic has history. Throws or rejects if the item
   * does not match its schema, or if the bus does not accept it.
   */
  publish(
    name: string,
    codec: MessageCodec<unknown>,
    item: TopicItem,
    log?: TopicLog,
    id?: string,
  ): Promise<void> | undefined {
    if (this.closing !== undefined) throw closed();
    const bytes = encodedBy(codec, item);
    const maxBytes = Math.min(this.limits.maxMessageBytes, this.bus?.maxMessageBytes ?? Infinity);
    if (bytes.length > maxBytes) {
      throw new RpcError(
        "resource_exhausted",
        `the message has ${bytes.length} bytes, and the limit of a topic is ${maxBytes}`,
      );
    }
    this.pace.count(PUBLISH_DELIVERIES, bytes.length);
    if (log !== undefined) return log.append(name, bytes, id);
    if (this.bus !== undefined) return this.bus.publish(name, bytes);
    this.channels.get(name)?.message(bytes);
    return undefined;
  }

  /**
   * Creates a subscription to a topic. Uses `log` if the topic has history. Throws `RpcError` if there are too many
   * subscriptions.
   */
  subscribe(name: string, codec: MessageCodec<unknown>, slow: "drop" | "end", log?: TopicLog): Subscription {
    if (this.closing !== undefined) throw closed();
    const { limits, queuedTotal } = this;
    if (this.subscriptions >= limits.maxSubscriptions) {
      throw new RpcError(
        "resource_exhausted",
        `there are ${limits.maxSubscriptions} subscriptions here, which is the limit`,
      );
    }
    const channel = this.channelOf(name, codec);
    const subscription = new Subscription({
      slow: log === undefined ? slow : "resume",
      limits,
      queuedTotal,
      onEnd: () => this.removeSubscription(name, channel, subscription),
    });
    channel.subscribers.add(subscription);
    this.subscriptions++;
    subscription.ready = log === undefined ? this.subscribeToBus(name, channel) : this.followLog(name, channel, log);
    return subscription;
  }

  /**
   * Removes messages of the subscribers with the most waiting bytes until a sixteenth of the limit is free. Subscribers
   * then need to be sorted only rarely.
   */
  private relieve(): void {
    const { queuedTotal } = this;
    const targetBytes = this.limits.maxHeldBytes * KEPT_SHARE;
    const all = [...this.channels.values()].flatMap(({ subscribers }) => [...subscribers]);
    this.pace.count(all.length, 0);
    const behind = all.filter(({ queuedBytes }) => queuedBytes > 0).sort((a, b) => b.queuedBytes - a.queuedBytes);
    while (queuedTotal.bytes > targetBytes && behind.some(({ queuedBytes }) => queuedBytes > 0)) {
      for (const subscription of behind) {
        if (queuedTotal.bytes <= targetBytes) return;
        subscription.dropWaiting();
      }
    }
  }

  private channelOf(name: string, codec: MessageCodec<unknown>): TopicChannel {
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = new TopicChannel(name, codec, this.onError, this.pace);
      this.channels.set(name, channel);
    }
    return channel;
  }

  /** Subscribes to a topic of the bus, for the topic's first subscriber in this process. */
  private async subscribeToBus(name: string, channel: TopicChannel): Promise<undefined> {
    if (this.bus === undefined) return;
    channel.tap ??= this.bus.subscribe(name, channel);
    await channel.tap.ready;
  }

  /**
   * Subscribes to a topic of the log, for the topic's first subscriber in this process. Resolves with a position after
   * which all messages will arrive.
   */
  private async followLog(name: string, channel: TopicChannel, log: TopicLog): Promise<string> {
    if (channel.tap === undefined) {
      const tap = log.follow(name, channel);
      // Messages that arrived before this have later positions.
      const ready = tap.ready.then((position) => {
        if (channel.position === "0") channel.position = position;
      });
      channel.tap = { ready, end: () => tap.end() };
    }
    await channel.tap.ready;
    return channel.position;
  }

  private removeSubscription(name: string, channel: TopicChannel, subscription: Subscription): void {
    if (!channel.subscribers.delete(subscription)) return;
    this.subscriptions--;
    if (channel.subscribers.size > 0) return;
    channel.tap?.end();
    if (this.channels.get(name) === channel) this.channels.delete(name);
  }

  private async end(): Promise<void> {
    for (const channel of this.channels.values()) channel.end(closed());
    await this.bus?.close();
    this.log?.close?.();
  }
}

function closed(): RpcError {
  return new RpcError("unavailable", "the topics of this process are closed");
}
