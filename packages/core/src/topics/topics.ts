import { checkOptions, type OptionNames } from "../check-options.js";
import type { MessageCodec } from "../contract/codec.js";
import { asError, RpcError } from "../errors.js";
import type { ErrorHook } from "../server/dispatch.js";
import { errorHook } from "../server/error-hook.js";
import type { TopicBus, TopicLog, TopicReceiver } from "./bus.js";
import { DeliveryPace } from "./delivery-pace.js";
import { type Delivery, deliveryOf, encodedBy, type TopicItem } from "./delivery.js";
import { DEFAULT_TOPIC_LIMITS, type TopicLimits } from "./limits.js";
import { MemoryLog } from "./memory-log.js";
import { type HeldBytes, Subscription } from "./subscription.js";

/** Deliveries that a publication counts besides those to subscribers: its validation, and its name. */
const PUBLISH_DELIVERIES = 10;
/** Share of `maxHeldBytes` that is kept when there is more. */
const KEPT_SHARE = 15 / 16;

/** Options of `createTopics`. */
export interface TopicsOptions {
  /** Carries messages to other processes, and from them. Default: none, subscribers are in this process. */
  readonly bus?: TopicBus | undefined;
  /** Keeps topics with history. Default: the bus's, which may keep none, or where there is no bus the memory of this process. */
  readonly log?: TopicLog | undefined;
  /** Limits of what subscribers may cost. Default: `DEFAULT_TOPIC_LIMITS`. */
  readonly limits?: Partial<TopicLimits> | undefined;
  /** Called with errors that nobody else receives: a message of the bus that does not fit its schema. Default: the console. */
  readonly onError?: ErrorHook | undefined;
}

/** Counters of the topics of one process. */
export interface TopicsStats {
  /** Topics that somebody subscribes to here. */
  readonly topics: number;
  readonly subscriptions: number;
  /** Bytes of messages that wait for a subscriber, by estimate, each counted once. */
  readonly heldBytes: number;
}

/** The topics of a process: who subscribes here, and what carries messages elsewhere. Any number of services share it. */
export interface Topics {
  stats(): TopicsStats;
  /** Ends all subscriptions with `unavailable`, and the bus. What is published afterwards fails. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS: OptionNames<TopicsOptions> = { bus: true, log: true, limits: DEFAULT_TOPIC_LIMITS, onError: true };

/** Makes the topics of a process, for the generated functions that take them. */
export function createTopics(options: TopicsOptions = {}): Topics {
  checkOptions("createTopics()", options, OPTIONS);
  return new TopicHub(options);
}

/** Returns what is behind `topics`. Throws `TypeError` for what `createTopics` has not made. */
export function hubOf(topics: Topics): TopicHub {
  if (topics instanceof TopicHub) return topics;
  throw new TypeError(
    "topics are made by createTopics(), or by a package for a broker; two copies of @quicrpc/core may be installed",
  );
}

/** The subscribers of one topic in this process, and the bus's subscription for them. */
class Room implements TopicReceiver {
  readonly subscribers: Set<Subscription> = new Set();
  tap: { readonly ready: Promise<unknown>; end(): void } | undefined = undefined;
  /** The position of the last message, where the topic has history. */
  position = "0";
  private readonly name: string;
  private readonly codec: MessageCodec<unknown>;
  private readonly onError: ErrorHook;
  private readonly pace: DeliveryPace;

  constructor(name: string, codec: MessageCodec<unknown>, onError: ErrorHook, pace: DeliveryPace) {
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

/** The implementation of `Topics`. */
export class TopicHub implements Topics {
  /** Keeps topics with history; undefined where the bus keeps none. */
  readonly log: TopicLog | undefined;
  /** Publishers, and readers of history, wait for it. */
  readonly pace: DeliveryPace = new DeliveryPace();
  private readonly bus: TopicBus | undefined;
  private readonly limits: TopicLimits;
  private readonly onError: ErrorHook;
  private readonly rooms: Map<string, Room> = new Map();
  private readonly held: HeldBytes = { bytes: 0, relieve: () => this.relieve() };
  private subscriptions = 0;
  private closing: Promise<void> | undefined = undefined;

  constructor({ bus, log, limits, onError }: TopicsOptions) {
    this.bus = bus;
    this.limits = { ...DEFAULT_TOPIC_LIMITS, ...limits };
    this.onError = errorHook(onError);
    this.log = log ?? (bus === undefined ? new MemoryLog(this.limits) : bus.log);
  }

  stats(): TopicsStats {
    return { topics: this.rooms.size, subscriptions: this.subscriptions, heldBytes: this.held.bytes };
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Publishes an item, which `codec` encodes, by `log` where the topic has history. Throws, or rejects, where it does not fit, or the bus has not
   * taken it.
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
    const most = Math.min(this.limits.maxMessageBytes, this.bus?.maxMessageBytes ?? Infinity);
    if (bytes.length > most) {
      throw new RpcError(
        "resource_exhausted",
        `the message has ${bytes.length} bytes, and ${most} are the most of a topic`,
      );
    }
    this.pace.count(PUBLISH_DELIVERIES, bytes.length);
    if (log !== undefined) return log.append(name, bytes, id);
    if (this.bus !== undefined) return this.bus.publish(name, bytes);
    this.rooms.get(name)?.message(bytes);
    return undefined;
  }

  /** Subscribes to a topic, by `log` where it has history. Throws `RpcError` where there is no room for one more. */
  subscribe(name: string, codec: MessageCodec<unknown>, slow: "drop" | "end", log?: TopicLog): Subscription {
    if (this.closing !== undefined) throw closed();
    const { limits, held } = this;
    if (this.subscriptions >= limits.maxSubscriptions) {
      throw new RpcError(
        "resource_exhausted",
        `there are ${limits.maxSubscriptions} subscriptions here, the most there may be`,
      );
    }
    const room = this.room(name, codec);
    const subscription = new Subscription({
      slow: log === undefined ? slow : "resume",
      limits,
      held,
      onEnd: () => this.leave(name, room, subscription),
    });
    room.subscribers.add(subscription);
    this.subscriptions++;
    subscription.ready = log === undefined ? this.tap(name, room) : this.follow(name, room, log);
    return subscription;
  }

  /** Drops the messages of the subscribers for whom most bytes wait, until a sixteenth of the limit is free: sorting them is rarely needed then. */
  private relieve(): void {
    const { held } = this;
    const most = this.limits.maxHeldBytes * KEPT_SHARE;
    const all = [...this.rooms.values()].flatMap(({ subscribers }) => [...subscribers]);
    this.pace.count(all.length, 0);
    const behind = all.filter(({ queuedBytes }) => queuedBytes > 0).sort((a, b) => b.queuedBytes - a.queuedBytes);
    while (held.bytes > most && behind.some(({ queuedBytes }) => queuedBytes > 0)) {
      for (const subscription of behind) {
        if (held.bytes <= most) return;
        subscription.lose();
      }
    }
  }

  private room(name: string, codec: MessageCodec<unknown>): Room {
    let room = this.rooms.get(name);
    if (room === undefined) {
      room = new Room(name, codec, this.onError, this.pace);
      this.rooms.set(name, room);
    }
    return room;
  }

  /** Subscribes to the bus for the first subscriber of a topic. */
  private async tap(name: string, room: Room): Promise<undefined> {
    if (this.bus === undefined) return;
    room.tap ??= this.bus.subscribe(name, room);
    await room.tap.ready;
  }

  /** Follows the log for the first subscriber of a topic. Resolves to a position after which all messages arrive. */
  private async follow(name: string, room: Room, log: TopicLog): Promise<string> {
    if (room.tap === undefined) {
      const tap = log.follow(name, room);
      // Whatever has arrived by then is later.
      const ready = tap.ready.then((position) => {
        if (room.position === "0") room.position = position;
      });
      room.tap = { ready, end: () => tap.end() };
    }
    await room.tap.ready;
    return room.position;
  }

  private leave(name: string, room: Room, subscription: Subscription): void {
    if (!room.subscribers.delete(subscription)) return;
    this.subscriptions--;
    if (room.subscribers.size > 0) return;
    room.tap?.end();
    if (this.rooms.get(name) === room) this.rooms.delete(name);
  }

  private async end(): Promise<void> {
    for (const room of this.rooms.values()) room.end(closed());
    await this.bus?.close();
    this.log?.close?.();
  }
}

function closed(): RpcError {
  return new RpcError("unavailable", "the topics of this process are closed");
}
