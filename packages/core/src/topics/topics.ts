import type { MessageCodec } from "../contract/codec.js";
import { asError, RpcError } from "../errors.js";
import type { ErrorHook } from "../server/dispatch.js";
import { errorHook } from "../server/error-hook.js";
import { FrameWriter } from "../wire/writer.js";
import type { BusSubscription, TopicBus, TopicReceiver } from "./bus.js";
import { type Delivery, deliveryOf, type TopicItem } from "./delivery.js";
import { DEFAULT_TOPIC_LIMITS, type TopicLimits } from "./limits.js";
import { type HeldBytes, Subscription } from "./subscription.js";

/** Options of `createTopics`. */
export interface TopicsOptions {
  /** Carries messages to other processes, and from them. Default: none, subscribers are in this process. */
  readonly bus?: TopicBus | undefined;
  readonly limits?: Partial<TopicLimits> | undefined;
  /** Called with what nobody else is told: a message of the bus that does not fit its schema. Default: the console. */
  readonly onError?: ErrorHook | undefined;
}

/** Counters of the topics of one process. */
export interface TopicsStats {
  /** Topics that somebody subscribes to here. */
  readonly topics: number;
  readonly subscriptions: number;
  /** Bytes of messages that wait for a subscriber, each counted once. */
  readonly heldBytes: number;
}

/** The topics of a process: who subscribes here, and what carries messages elsewhere. Any number of services share it. */
export interface Topics {
  stats(): TopicsStats;
  /** Ends all subscriptions with `unavailable`, and the bus. What is published afterwards fails. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes the topics of a process, for the generated functions that take them. */
export function createTopics(options: TopicsOptions = {}): Topics {
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
  tap: BusSubscription | undefined = undefined;
  private readonly name: string;
  private readonly codec: MessageCodec<unknown>;
  private readonly onError: ErrorHook;

  constructor(name: string, codec: MessageCodec<unknown>, onError: ErrorHook) {
    this.name = name;
    this.codec = codec;
    this.onError = onError;
  }

  message(bytes: Uint8Array): void {
    let delivery: Delivery;
    try {
      delivery = deliveryOf(this.codec, bytes);
    } catch (error) {
      this.onError(new Error(`a message of the bus does not fit topic ${this.name}: ${asError(error).message}`), {
        method: this.name,
      });
      return;
    }
    for (const subscriber of this.subscribers) subscriber.push(delivery);
  }

  interrupted(reason: string): void {
    this.end(new RpcError("unavailable", `messages of the topic may be missing: ${reason}`));
  }

  end(error: RpcError): void {
    for (const subscriber of this.subscribers) subscriber.end(error);
  }
}

/** What is behind `Topics`. */
export class TopicHub implements Topics {
  private readonly bus: TopicBus | undefined;
  private readonly limits: TopicLimits;
  private readonly onError: ErrorHook;
  private readonly rooms: Map<string, Room> = new Map();
  private readonly held: HeldBytes = { bytes: 0 };
  private subscriptions = 0;
  private closing: Promise<void> | undefined = undefined;

  constructor({ bus, limits, onError }: TopicsOptions) {
    this.bus = bus;
    this.limits = { ...DEFAULT_TOPIC_LIMITS, ...limits };
    this.onError = errorHook(onError);
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

  /** Publishes an item, which `codec` encodes. Throws, or rejects, where it does not fit, or the bus has not taken it. */
  publish(name: string, codec: MessageCodec<unknown>, item: TopicItem): Promise<void> | undefined {
    if (this.closing !== undefined) throw closed();
    const out = new FrameWriter(256);
    codec.encode(item, out);
    const bytes = out.buffer.slice(0, out.position);
    const most = Math.min(this.limits.maxMessageBytes, this.bus?.maxMessageBytes ?? Infinity);
    if (bytes.length > most) {
      throw new RpcError(
        "resource_exhausted",
        `the message has ${bytes.length} bytes, and ${most} are the most of a topic`,
      );
    }
    if (this.bus !== undefined) return this.bus.publish(name, bytes);
    this.rooms.get(name)?.message(bytes);
    return undefined;
  }

  /** Subscribes to a topic. Throws `RpcError` where there is no room for one more. */
  subscribe(name: string, codec: MessageCodec<unknown>, slow: "drop" | "end"): Subscription {
    if (this.closing !== undefined) throw closed();
    const { limits, held } = this;
    if (this.subscriptions >= limits.maxSubscriptions) {
      throw new RpcError(
        "resource_exhausted",
        `there are ${limits.maxSubscriptions} subscriptions here, the most there may be`,
      );
    }
    const room = this.room(name, codec);
    const subscription = new Subscription({ slow, limits, held, onEnd: () => this.leave(name, room, subscription) });
    room.subscribers.add(subscription);
    this.subscriptions++;
    subscription.ready = this.tap(name, room);
    return subscription;
  }

  private room(name: string, codec: MessageCodec<unknown>): Room {
    let room = this.rooms.get(name);
    if (room === undefined) {
      room = new Room(name, codec, this.onError);
      this.rooms.set(name, room);
    }
    return room;
  }

  /** Subscribes to the bus for the first subscriber of a topic. */
  private tap(name: string, room: Room): Promise<void> {
    if (this.bus === undefined) return READY;
    try {
      room.tap ??= this.bus.subscribe(name, room);
      return room.tap.ready;
    } catch (error) {
      return Promise.reject(error);
    }
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
  }
}

const READY: Promise<void> = Promise.resolve();

function closed(): RpcError {
  return new RpcError("unavailable", "the topics of this process are closed");
}
