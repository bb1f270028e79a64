import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { RpcError } from "@quicrpc/core";
import type { BusSubscription, TopicBus, TopicLog, TopicReceiver } from "@quicrpc/topics";

export interface NatsBusSettings {
  /** Prefix of all NATS subjects, including the final dot. */
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly maxUnconfirmedBytes: number;
}

/** A period without a connection to a server. It interrupts subscriptions if it lasts too long, or when it ends. */
interface Outage {
  readonly timer: ReturnType<typeof setTimeout>;
  /** Receivers that were subscribed when the connection was lost. */
  readonly receivers: ReadonlySet<TopicReceiver>;
  /** Resolves when a server can be reached again. */
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/**
 * Message bus over NATS (without JetStream). It uses one connection, with one subscription for each topic that has
 * subscribers in this process.
 */
export class NatsBus implements TopicBus {
  readonly log: TopicLog | undefined;
  private readonly nats: NatsConnection;
  private readonly settings: NatsBusSettings;
  private readonly receivers: Set<TopicReceiver> = new Set();
  /** Pending confirmation by the server for all messages sent in this turn of the event loop. */
  private confirming: Promise<void> | undefined = undefined;
  private unconfirmedBytes = 0;
  private outage: Outage | undefined = undefined;

  constructor(nats: NatsConnection, settings: NatsBusSettings, log?: TopicLog) {
    this.log = log;
    this.nats = nats;
    this.settings = settings;
    void this.watch();
  }

  get maxMessageBytes(): number | undefined {
    return this.nats.info?.max_payload;
  }

  async publish(topic: string, message: Uint8Array): Promise<void> {
    const { length } = message;
    if (this.outage !== undefined) throw unavailable("the NATS server is unreachable");
    if (this.unconfirmedBytes + length > this.settings.maxUnconfirmedBytes) {
      throw new RpcError(
        "resource_exhausted",
        "too many messages wait for confirmation by the NATS server (maxUnconfirmedBytes)",
      );
    }
    this.unconfirmedBytes += length;
    try {
      this.nats.publish(this.settings.prefix + topic, message);
      await this.confirmed();
    } catch (error) {
      throw unavailable("the NATS server has not confirmed the message, which may be lost", error);
    } finally {
      this.unconfirmedBytes -= length;
    }
  }

  subscribe(topic: string, receiver: TopicReceiver): BusSubscription {
    const subscription: Subscription = this.nats.subscribe(this.settings.prefix + topic, {
      callback: (error, { data }) => {
        // The data is part of a buffer with many messages.
        if (error === null) receiver.message(data.slice());
        else receiver.interrupted(`the NATS server says: ${error.message}`);
      },
    });
    this.receivers.add(receiver);
    const end = (): void => {
      this.receivers.delete(receiver);
      if (!subscription.isClosed()) subscription.unsubscribe();
    };
    return { ready: this.confirmSubscription(), end };
  }

  async close(): Promise<void> {
    clearTimeout(this.outage?.timer);
    await this.nats.close();
  }

  private async confirmSubscription(): Promise<void> {
    try {
      await inTime(this.outage?.ended, this.settings.timeoutMs);
      await this.confirmed();
    } catch (error) {
      throw unavailable("the NATS server has not confirmed the subscription", error);
    }
  }

  /**
   * Resolves when the server has received all messages sent so far. Messages sent in one turn of the event loop share a
   * confirmation.
   */
  private confirmed(): Promise<void> {
    if (this.confirming === undefined) {
      const ping = Promise.resolve().then(() => {
        this.confirming = undefined;
        return this.nats.flush();
      });
      this.confirming = inTime(ping, this.settings.timeoutMs);
      // Callers of `confirmed` handle the rejection.
      this.confirming.catch(() => {});
    }
    return this.confirming;
  }

  /**
   * Interrupts the subscriptions after the connection was lost, because it is unknown which messages were lost
   * meanwhile.
   */
  private async watch(): Promise<void> {
    for await (const { type } of this.nats.status()) {
      if (type === "disconnect") this.onDisconnect();
      if (type === "reconnect") this.onReconnect();
    }
    this.interrupt("the connection to NATS is closed", this.receivers);
  }

  private onDisconnect(): void {
    if (this.outage !== undefined) return;
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const receivers = new Set(this.receivers);
    const onTimeout = (): void => this.interrupt("the NATS server is unreachable", receivers);
    this.outage = { timer: setTimeout(onTimeout, this.settings.timeoutMs), receivers, ended: ended, end };
  }

  private onReconnect(): void {
    const { outage } = this;
    if (outage === undefined) return;
    this.outage = undefined;
    clearTimeout(outage.timer);
    this.interrupt("the NATS server was unreachable", outage.receivers);
    outage.end();
  }

  private interrupt(reason: string, receivers: ReadonlySet<TopicReceiver>): void {
    for (const receiver of receivers) if (this.receivers.has(receiver)) receiver.interrupted(reason);
  }
}

async function inTime(promise: Promise<void> | undefined, timeoutMs: number): Promise<void> {
  if (promise === undefined) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it has not answered for ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([promise, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(text: string, cause?: unknown): RpcError {
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return new RpcError("unavailable", text + reason, { cause });
}
