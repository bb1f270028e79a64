import type { Worker } from "node:cluster";
import type { BusSubscription, TopicBus, TopicReceiver } from "@quicrpc/topics";
import type { FromWorker, ToWorker } from "./messages.js";

/**
 * Maximum number of characters that wait in the IPC channel to a worker that does not read. Beyond that, the worker's
 * subscribers lose messages and are notified of the loss.
 */
const MAX_WAITING = 16 * 1024 * 1024;

interface WorkerMember {
  readonly worker: Worker;
  readonly topics: Set<string>;
  waiting: number;
  /** True if messages for the worker were dropped. The worker is notified when it reads again. */
  behind: boolean;
}

/** Message bus of one `Topics` object in the main process. */
class RelayBus implements TopicBus {
  readonly receivers: Map<string, TopicReceiver> = new Map();
  private readonly relay: (topic: string, message: Uint8Array) => void;
  private readonly onLeave: () => void;

  constructor(relay: (topic: string, message: Uint8Array) => void, onLeave: () => void) {
    this.relay = relay;
    this.onLeave = onLeave;
  }

  publish(topic: string, message: Uint8Array): undefined {
    this.relay(topic, message);
  }

  subscribe(topic: string, receiver: TopicReceiver): BusSubscription {
    this.receivers.set(topic, receiver);
    const end = (): void => {
      // Another receiver may have replaced it.
      if (this.receivers.get(topic) === receiver) this.receivers.delete(topic);
    };
    return { ready: Promise.resolve(), end };
  }

  async close(): Promise<void> {
    this.receivers.clear();
    this.onLeave();
  }
}

/** Passes topic messages between the workers of a group and the main process. */
class TopicRelay {
  private readonly members: Map<string, Set<WorkerMember>> = new Map();
  private readonly buses: Set<RelayBus> = new Set();

  bus(): TopicBus {
    const bus = new RelayBus(
      (topic, message) => {
        const { buffer, byteOffset, length } = message;
        this.relay(topic, Buffer.from(buffer, byteOffset, length).toString("base64"), message);
      },
      () => this.buses.delete(bus),
    );
    this.buses.add(bus);
    return bus;
  }

  /**
   * Passes on the messages that a worker publishes, and sends it the messages of topics that it subscribes to, until
   * the worker exits.
   */
  attach(worker: Worker): void {
    const member: WorkerMember = { worker, topics: new Set(), waiting: 0, behind: false };
    worker.on("message", (message: FromWorker | null) => {
      if (message?.quicrpc === "topic") {
        if (message.subscribed) this.add(member, message.name);
        else this.remove(member, message.name);
        this.send(member, { quicrpc: "topicDone", id: message.id }, 0);
      }
      if (message?.quicrpc === "publish") {
        this.relay(message.name, message.bytes, undefined);
        this.send(member, { quicrpc: "topicDone", id: message.id }, 0);
      }
    });
    worker.once("exit", () => {
      for (const topic of member.topics) this.remove(member, topic);
    });
  }

  private relay(name: string, bytes: string, message: Uint8Array | undefined): void {
    for (const member of this.members.get(name) ?? []) {
      if (member.waiting + bytes.length > MAX_WAITING) member.behind = true;
      else this.send(member, { quicrpc: "topicMessage", name, bytes }, bytes.length);
    }
    for (const bus of this.buses) {
      bus.receivers.get(name)?.message(message ?? new Uint8Array(Buffer.from(bytes, "base64")));
    }
  }

  private send(member: WorkerMember, message: ToWorker, size: number): void {
    const { worker } = member;
    if (!worker.isConnected()) return;
    member.waiting += size;
    worker.send(message, () => {
      member.waiting -= size;
      if (!member.behind || member.waiting > 0) return;
      member.behind = false;
      this.send(member, { quicrpc: "topicsInterrupted" }, 0);
    });
  }

  private add(member: WorkerMember, topic: string): void {
    member.topics.add(topic);
    const members = this.members.get(topic) ?? new Set();
    this.members.set(topic, members.add(member));
  }

  private remove(member: WorkerMember, topic: string): void {
    member.topics.delete(topic);
    const members = this.members.get(topic);
    members?.delete(member);
    if (members?.size === 0) this.members.delete(topic);
  }
}

export const topicRelay: TopicRelay = new TopicRelay();
