import { RpcError } from "@quicrpc/core";
import type { BusSubscription, TopicBus, TopicReceiver } from "@quicrpc/topics";
import type { FromWorker, ToWorker } from "./messages.js";

/** Maximum number of characters of messages to the primary that are not confirmed. Further messages are refused. */
const MAX_UNCONFIRMED = 16 * 1024 * 1024;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: RpcError) => void;
}

/**
 * Number of message buses in this process that subscribe to each topic. The primary counts the whole process as one
 * subscriber.
 */
const subscribers: Map<string, number> = new Map();

/**
 * Id of the last message to the primary. All buses of this process share it, because each bus receives all responses.
 */
let lastId = 0;

/** Message bus of one `Topics` object in a worker. The main process passes messages between the workers. */
export class WorkerBus implements TopicBus {
  private readonly receivers: Map<string, TopicReceiver> = new Map();
  private readonly waiting: Map<number, Waiting> = new Map();
  private unconfirmed = 0;
  private readonly listen = (message: ToWorker | null): void => this.receive(message);
  private readonly onDisconnect = (): void => this.onPrimaryLost();

  constructor() {
    process.on("message", this.listen);
    process.on("disconnect", this.onDisconnect);
  }

  async publish(name: string, message: Uint8Array): Promise<void> {
    const { buffer, byteOffset, length } = message;
    const bytes = Buffer.from(buffer, byteOffset, length).toString("base64");
    if (this.unconfirmed + bytes.length > MAX_UNCONFIRMED) {
      throw new RpcError("resource_exhausted", "too many messages wait for confirmation by the primary process");
    }
    this.unconfirmed += bytes.length;
    try {
      await this.request((id) => ({ quicrpc: "publish", id, name, bytes }));
    } finally {
      this.unconfirmed -= bytes.length;
    }
  }

  subscribe(name: string, receiver: TopicReceiver): BusSubscription {
    if (!this.receivers.has(name)) subscribers.set(name, (subscribers.get(name) ?? 0) + 1);
    this.receivers.set(name, receiver);
    const ready = this.request((id) => ({ quicrpc: "topic", id, name, subscribed: true }));
    const end = (): void => {
      // Another receiver may have replaced this one, and still needs the subscription.
      if (this.receivers.get(name) !== receiver) return;
      this.unsubscribe(name);
    };
    return { ready, end };
  }

  async close(): Promise<void> {
    process.off("message", this.listen);
    process.off("disconnect", this.onDisconnect);
    this.onPrimaryLost();
    for (const name of this.receivers.keys()) this.unsubscribe(name);
  }

  /**
   * Unsubscribes this bus from a topic. If no other bus of the process is subscribed, also unsubscribes the process at
   * the primary.
   */
  private unsubscribe(name: string): void {
    this.receivers.delete(name);
    const remainingBuses = (subscribers.get(name) ?? 1) - 1;
    if (remainingBuses > 0) {
      subscribers.set(name, remainingBuses);
      return;
    }
    subscribers.delete(name);
    this.request((id) => ({ quicrpc: "topic", id, name, subscribed: false })).catch(() => {});
  }

  /** Sends a request to the primary. Resolves when the primary has confirmed it. */
  private request(message: (id: number) => FromWorker): Promise<void> {
    if (!process.connected) return Promise.reject(primaryGone());
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      process.send?.(message(id), undefined, undefined, (error: Error | null) => {
        if (error === null) return;
        this.waiting.delete(id);
        reject(primaryGone(error));
      });
    });
  }

  private receive(message: ToWorker | null): void {
    if (message?.quicrpc === "topicMessage") {
      this.receivers.get(message.name)?.message(new Uint8Array(Buffer.from(message.bytes, "base64")));
    }
    if (message?.quicrpc === "topicDone") {
      this.waiting.get(message.id)?.resolve();
      this.waiting.delete(message.id);
    }
    if (message?.quicrpc === "topicsInterrupted") this.interrupt("this worker received messages too slowly");
  }

  private interrupt(reason: string): void {
    for (const receiver of this.receivers.values()) receiver.interrupted(reason);
  }

  private onPrimaryLost(): void {
    for (const { reject } of this.waiting.values()) reject(primaryGone());
    this.waiting.clear();
    this.interrupt("the primary process has ended");
  }
}

function primaryGone(cause?: Error): RpcError {
  return new RpcError("unavailable", "the primary process has ended", { cause });
}
