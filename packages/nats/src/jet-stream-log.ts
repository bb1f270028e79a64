import {
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  jetstream,
  type JetStreamManager,
  type JsMsg,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "@quicrpc/core";
import {
  expiredPosition,
  type LoggedMessage,
  type LogSubscription,
  type TopicLog,
  type TopicReceiver,
} from "@quicrpc/topics";

/** Options of the JetStream stream that stores topics with history. */
export interface NatsHistory {
  /** Name of the JetStream stream, which is created if it does not exist. Default "quicrpc-topics". */
  readonly stream?: string | undefined;
  /** Maximum number of stored messages of each topic. Default 1000. */
  readonly maxMessages?: number | undefined;
  /** Milliseconds for which messages are stored. Default: 86,400,000 (one day). */
  readonly maxAgeMs?: number | undefined;
  /** Maximum total size of the stored messages in bytes. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** Number of replicas of the stream in a cluster. Default 1. */
  readonly replicas?: number | undefined;
}

export interface JetStreamSettings extends NatsHistory {
  readonly prefix: string;
  readonly timeoutMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const NANOS_PER_MS = 1_000_000;
/**
 * Milliseconds after which a message that the server has not confirmed is sent again. The server recognises repetitions
 * by the message's id.
 */
const AGAIN_MS = 100;
/** Number of attempts to send a message within the timeout if the server does not respond. */
const ATTEMPTS = 5;
/** Milliseconds for which one request waits for messages. After that, the next request is sent. */
const EXPIRES_MS = 5000;
/**
 * Position before the first message of an empty stream. It differs from "0", which would request all stored messages.
 */
const EMPTY = "00";

/** A subscriber of this process that receives the new messages of a topic. */
interface Follower {
  readonly topic: string;
  readonly receiver: TopicReceiver;
  /** Sequence number of the last message that the subscriber has received. */
  last: number;
  reading: ConsumerMessages | undefined;
  /** Counter that is incremented whenever reading starts again, and at the end of the subscription. */
  generation: number;
}

/**
 * Log that stores the history of topics in a JetStream stream. The position of a message is its sequence number in the
 * stream.
 */
export class JetStreamLog implements TopicLog {
  private readonly client: JetStreamClient;
  private readonly manager: JetStreamManager;
  private readonly stream: string;
  private readonly subjects: string;
  private readonly timeoutMs: number;
  private readonly instanceId: string = crypto.randomUUID();
  private sent = 0;
  private readonly followers: Set<Follower> = new Set();
  private readonly readings: Set<ConsumerMessages> = new Set();

  private constructor(
    client: JetStreamClient,
    manager: JetStreamManager,
    { stream = "quicrpc-topics", prefix, timeoutMs }: JetStreamSettings,
  ) {
    this.client = client;
    this.manager = manager;
    this.stream = stream;
    this.subjects = `${prefix}topic-history.`;
    this.timeoutMs = timeoutMs;
  }

  /**
   * Opens the JetStream stream, or creates it if it does not exist. Rejects if JetStream is not enabled on the server.
   */
  static async open(nats: NatsConnection, settings: JetStreamSettings): Promise<JetStreamLog> {
    const client = jetstream(nats, { timeout: settings.timeoutMs });
    const manager = await client.jetstreamManager();
    const log = new JetStreamLog(client, manager, settings);
    const { maxMessages = 1000, maxAgeMs = DAY_MS, maxBytes = 1024 ** 3, replicas = 1 } = settings;
    try {
      await manager.streams.info(log.stream);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await manager.streams.add({
        name: log.stream,
        subjects: [`${log.subjects}>`],
        max_msgs_per_subject: maxMessages,
        max_age: maxAgeMs * NANOS_PER_MS,
        max_bytes: maxBytes,
        num_replicas: replicas,
      });
    }
    void log.watch(nats);
    return log;
  }

  async append(topic: string, message: Uint8Array, id?: string): Promise<void> {
    // The server knows the ids of all topics alike.
    const msgID = id === undefined ? `${this.instanceId}-${++this.sent}` : `${topic} ${encodeURIComponent(id)}`;
    const end = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        await this.client.publish(this.subjects + topic, message, { msgID, timeout: this.timeoutMs / ATTEMPTS });
        return;
      } catch (error) {
        if (performance.now() + AGAIN_MS > end) {
          throw new RpcError(
            "unavailable",
            "the NATS server has not confirmed the message; it may or may not have stored it",
            {
              cause: error,
            },
          );
        }
        await sleep(AGAIN_MS);
      }
    }
  }

  follow(topic: string, receiver: TopicReceiver): LogSubscription {
    const follower: Follower = { topic, receiver, last: 0, reading: undefined, generation: 0 };
    const start = async (): Promise<string> => {
      const { state } = await this.manager.streams.info(this.stream);
      follower.last = state.last_seq;
      await this.read(follower);
      return follower.last === 0 ? EMPTY : String(state.last_seq);
    };
    this.followers.add(follower);
    const ready = start().catch((error: unknown) => {
      throw new RpcError("unavailable", "the history of the topic cannot be followed", { cause: error });
    });
    const end = (): void => {
      follower.generation++;
      this.followers.delete(follower);
      follower.reading?.stop();
    };
    return { ready, end };
  }

  /** Delivers the messages after the last one that the subscriber has received, with a new consumer. */
  private async read(follower: Follower): Promise<void> {
    const generation = ++follower.generation;
    follower.reading?.stop();
    const consumer = await this.consumer(follower.topic, follower.last);
    const callback = (message: JsMsg): void => {
      if (follower.generation !== generation || message.seq <= follower.last) return;
      follower.last = message.seq;
      follower.receiver.message(message.data.slice(), String(message.seq));
    };
    const reading: ConsumerMessages = await consumer.consume({ callback, expires: EXPIRES_MS });
    if (follower.generation !== generation) {
      reading.stop();
      return;
    }
    follower.reading = reading;
    void reading.closed().then(() => {
      if (follower.generation === generation)
        follower.receiver.interrupted("the NATS server has ended the consumer of the topic's history");
    });
  }

  /** Starts to read again as soon as the server is available. */
  private async readOn(follower: Follower): Promise<void> {
    const end = performance.now() + this.timeoutMs;
    for (;;) {
      try {
        await this.read(follower);
        return;
      } catch (error) {
        if (!this.followers.has(follower)) return;
        if (performance.now() + AGAIN_MS > end) {
          follower.receiver.interrupted(`the history of the topic cannot be followed: ${String(error)}`);
          return;
        }
        await sleep(AGAIN_MS);
      }
    }
  }

  /** Starts all consumers again after the connection was lost, because a restarted server has lost its consumers. */
  private async watch(nats: NatsConnection): Promise<void> {
    for await (const { type } of nats.status()) {
      if (type !== "reconnect") continue;
      for (const reading of this.readings) reading.stop();
      for (const follower of this.followers) void this.readOn(follower);
    }
  }

  async *after(topic: string, position: string): AsyncGenerator<LoggedMessage> {
    const subject = this.subjects + topic;
    const number = Number(position);
    if (!Number.isSafeInteger(number) || number < 0) throw expiredPosition();
    if (position !== "0" && !(await this.hasAllAfter(subject, number))) throw expiredPosition();
    const last = await this.manager.streams.getMessage(this.stream, { last_by_subj: subject });
    if (last === null || last.seq <= number) return;
    const consumer = await this.consumer(topic, number);
    const reading = await consumer.consume({ expires: EXPIRES_MS });
    this.readings.add(reading);
    try {
      for await (const message of reading) {
        yield { bytes: message.data.slice(), position: String(message.seq) };
        if (message.seq >= last.seq) return;
      }
    } finally {
      this.readings.delete(reading);
      reading.stop();
    }
    throw new RpcError("unavailable", "the NATS server has ended the consumer of the topic's history");
  }

  /**
   * Returns true if no message of the topic after a sequence number was removed. While one message is stored, so are
   * all later ones of its topic. If none is stored, the limits of the stream decide.
   */
  private async hasAllAfter(subject: string, number: number): Promise<boolean> {
    const { streams } = this.manager;
    const message = number === 0 ? null : await streams.getMessage(this.stream, { seq: number });
    if (message?.subject === subject) return true;
    const { state, config } = await streams.info(this.stream, { subjects_filter: subject });
    const storedCount = state.subjects?.[subject] ?? 0;
    const maxCount = config.max_msgs_per_subject > 0 ? config.max_msgs_per_subject : Infinity;
    return state.first_seq <= number + 1 && storedCount < maxCount;
  }

  /**
   * Returns a consumer that reads the messages after a sequence number. It survives lost connections and restarts of
   * the server.
   */
  private consumer(topic: string, after: number): ReturnType<JetStreamClient["consumers"]["get"]> {
    return this.client.consumers.get(this.stream, {
      filter_subjects: [this.subjects + topic],
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
    });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && /stream not found/i.test(error.message);
}
