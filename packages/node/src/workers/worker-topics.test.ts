// Several `workerTopics()` in one process do not disturb each other, in a worker and in the process that keeps the workers.
import { EventEmitter } from "node:events";
import type { Worker } from "node:cluster";
import { afterEach, expect, it, vi } from "vitest";
import type { BusSubscription, TopicBus } from "@quicrpc/topics";
import { topicRelay } from "./topic-relay.js";
import { WorkerBus } from "./worker-bus.js";

afterEach(() => void vi.unstubAllGlobals());

/** Makes this process a worker of itself: messages on its IPC channel go to the relay. */
function beWorker(): void {
  const channel = new EventEmitter();
  const receive = (message: object): void => void channel.emit("message", message);
  const send = (message: object, ...[, , sent]: [unknown, unknown, (error: Error | null) => void]): boolean => {
    queueMicrotask(() => {
      worker.emit("message", message);
      sent(null);
    });
    return true;
  };
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => true,
    send: (message: object, sent: () => void) =>
      queueMicrotask(() => {
        receive(message);
        sent();
      }),
  });
  topicRelay.attach(worker as unknown as Worker);
  const workerProcess = { connected: true, send, on: channel.on.bind(channel), off: channel.off.bind(channel) };
  vi.stubGlobal(
    "process",
    new Proxy(process, { get: (all, key) => Reflect.get(key in workerProcess ? workerProcess : all, key) }),
  );
}

interface Heard {
  readonly messages: string[];
  readonly subscription: BusSubscription;
}

async function subscribed(bus: TopicBus, topic: string): Promise<Heard> {
  const messages: string[] = [];
  const subscription = bus.subscribe(topic, {
    message: (bytes) => void messages.push(new TextDecoder().decode(bytes)),
    interrupted: (reason) => void messages.push(reason),
  });
  await subscription.ready;
  return { messages, subscription };
}

it.each<[string, () => TopicBus]>([
  ["a worker", () => new WorkerBus()],
  ["the process that keeps them", () => topicRelay.bus()],
])("topics of one process reach all that subscribe there, whichever of them leave: in %s", async (where, newBus) => {
  if (where === "a worker") beWorker();
  const buses = [newBus(), newBus(), newBus()] as const;
  const [first, second, third] = await Promise.all(buses.map(async (bus) => subscribed(bus, "t")));
  const publish = async (text: string): Promise<void> => buses[1].publish("t", new TextEncoder().encode(text));
  const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await publish("a");
  await settled();
  first?.subscription.end();
  await settled();
  await publish("b");
  await settled();
  await buses[2].close();
  await settled();
  await publish("c");
  await settled();
  expect(first?.messages).toEqual(["a"]);
  expect(second?.messages).toEqual(["a", "b", "c"]);
  expect(third?.messages.slice(0, 2)).toEqual(["a", "b"]);
  await Promise.all([buses[0].close(), buses[1].close()]);
  await settled();
  expect((topicRelay as unknown as { members: Map<string, unknown> }).members.size).toBe(0);
});

it("an answer of the primary is of the bus that has asked", async () => {
  const asked: { id: number }[] = [];
  const channel = new EventEmitter();
  const send = (message: { id: number }): number => asked.push(message);
  const workerProcess = { connected: true, send, on: channel.on.bind(channel), off: () => {} };
  vi.stubGlobal(
    "process",
    new Proxy(process, { get: (all, key) => Reflect.get(key in workerProcess ? workerProcess : all, key) }),
  );
  const buses = [new WorkerBus(), new WorkerBus()] as const;
  const confirmed: number[] = [];
  const published = buses.map(async (bus, i) => {
    await bus.publish("t", new Uint8Array(1));
    confirmed.push(i);
  });
  channel.emit("message", { quicrpc: "topicDone", id: asked[1]?.id });
  await new Promise((resolve) => setImmediate(resolve));
  expect(confirmed).toEqual([1]);
  channel.emit("message", { quicrpc: "topicDone", id: asked[0]?.id });
  await Promise.all(published);
});
