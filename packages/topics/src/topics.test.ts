import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createLocalCaller } from "@quicrpc/core";
import { defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import type { BusSubscription, TopicBus, TopicReceiver } from "./bus.js";
import type { TopicLimits } from "./limits.js";
import { createTopicRouter, type ServedTopics, serveTopics, type Topic, type TopicOptions } from "./serve-topics.js";
import { createTopics, type TopicsOptions } from "./topics.js";

const service = { name: "test.v1.Rooms", id: 4714 };
const message = z.object({ n: z.int(), text: z.string().optional() });
type Message = z.infer<typeof message>;
const methods = {
  publishRoom: defineMethod(service, "unary", "publishRoom", {
    id: 1,
    input: zodCodec(z.object({ id: z.string(), message })),
  }),
  subscribeRoom: defineMethod(service, "server_stream", "subscribeRoom", {
    id: 2,
    input: zodCodec(z.object({ id: z.string() })),
    output: zodCodec(z.object({ message, lost: z.int().optional() })),
  }),
};
const logMethods = {
  publishLog: defineMethod(service, "unary", "publishLog", {
    id: 3,
    input: zodCodec(z.object({ id: z.string(), message })),
  }),
  subscribeLog: defineMethod(service, "server_stream", "subscribeLog", {
    id: 4,
    input: zodCodec(z.object({ id: z.string() })),
    output: zodCodec(z.object({ message: message.optional(), position: z.string() })),
    cursor: { field: "position" },
  }),
};
type Item = { message: Message; lost?: number | undefined };
interface Served extends ServedTopics {
  readonly room: Topic<{ id: string; message: Message }, { id: string }, Item>;
}

function served(options: TopicsOptions = {}, room: Partial<TopicOptions<unknown>> = {}) {
  const topics = createTopics(options);
  const rooms: Served = serveTopics(methods, { room: "room.{id}" }, topics, {
    room: { authorize: "everybody", ...room },
  });
  return { topics, rooms, router: createTopicRouter(methods, {}, rooms) };
}

/** Takes `count` items. */
async function take(items: AsyncIterator<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  while (taken.length < count) {
    const { done, value } = await items.next();
    if (done === true) break;
    taken.push(value);
  }
  return taken;
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "it did not fail",
    (error: unknown) => error,
  );
}

describe("topics", () => {
  it("reach those who subscribe to the same parameters, in order", async () => {
    const { rooms, topics } = served();
    const one = await rooms.room.subscribe({ id: "1" });
    const other = await rooms.room.subscribe({ id: "1.x" });
    for (let n = 0; n < 3; n++) await rooms.room.publish({ id: "1", message: { n } });
    await rooms.room.publish({ id: "1.x", message: { n: 9 } });
    expect(await take(one, 3)).toEqual([{ message: { n: 0 } }, { message: { n: 1 } }, { message: { n: 2 } }]);
    expect(await take(other, 1)).toEqual([{ message: { n: 9 } }]);
    await one.return?.();
    await other.return?.();
    expect(topics.stats()).toEqual({ topics: 0, subscriptions: 0, heldBytes: 0 });
  });

  it("let other work run between messages to many subscribers, and keep their order", async () => {
    const { rooms } = served();
    const subscriptions = await Promise.all(Array.from({ length: 1000 }, () => rooms.room.subscribe({ id: "7" })));
    let turns = 0;
    const count = (): void => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    await Promise.all(Array.from({ length: 20 }, (_, n) => rooms.room.publish({ id: "7", message: { n } })));
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(4);
    const taken = await take(subscriptions[999] as AsyncIterator<Item>, 20);
    expect(taken.map(({ message: { n } }) => n)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it("of names that differ in single surrogates are refused: they would be one topic", async () => {
    const { rooms } = served();
    const publishing = rooms.room.publish({ id: "\ud800", message: { n: 1 } });
    expect(await failure(publishing)).toMatchObject({ code: "invalid_argument" });
  });

  it("tell a subscriber that is behind how many messages it has lost", async () => {
    const { rooms, topics } = served({ limits: { maxQueuedMessages: 4 } });
    const slow = await rooms.room.subscribe({ id: "1" });
    for (let n = 0; n < 10; n++) await rooms.room.publish({ id: "1", message: { n } });
    expect(await take(slow, 4)).toEqual([
      { message: { n: 6 }, lost: 6 },
      { message: { n: 7 } },
      { message: { n: 8 } },
      { message: { n: 9 } },
    ]);
    expect(topics.stats().heldBytes).toBe(0);
  });

  it("end a subscriber that is behind where they are told to", async () => {
    const { rooms, topics } = served({ limits: { maxQueuedMessages: 4 } }, { slow: "end" });
    const slow = await rooms.room.subscribe({ id: "1" });
    for (let n = 0; n < 10; n++) await rooms.room.publish({ id: "1", message: { n } });
    expect(await failure(take(slow, 1))).toMatchObject({ code: "resource_exhausted" });
    expect(topics.stats()).toEqual({ topics: 0, subscriptions: 0, heldBytes: 0 });
  });

  it.each<[string, Partial<TopicLimits>]>([
    ["for one subscriber", { maxQueuedBytes: 5000 }],
    ["for all of them", { maxHeldBytes: 5000 }],
  ])("hold a bounded number of bytes %s", async (_, limits) => {
    const { rooms, topics } = served({ limits });
    await rooms.room.subscribe({ id: "1" });
    for (let n = 0; n < 100; n++) await rooms.room.publish({ id: "1", message: { n, text: "x".repeat(1000) } });
    expect(topics.stats().heldBytes).toBeGreaterThan(1000);
    expect(topics.stats().heldBytes).toBeLessThan(5000);
  });

  it("count a message that waits for many once", async () => {
    const { rooms, topics } = served();
    for (let n = 0; n < 100; n++) await rooms.room.subscribe({ id: "1" });
    await rooms.room.publish({ id: "1", message: { n: 1, text: "x".repeat(1000) } });
    expect(topics.stats().heldBytes).toBeLessThan(2000);
  });

  it("count what the values of a message take, rather than what they are sent as", async () => {
    const topics = createTopics();
    const anything = defineMethod(service, "server_stream", "subscribeRoom", {
      id: 2,
      input: uncheckedCodec<{ id: string }>(),
      output: uncheckedCodec<unknown>(),
    });
    const all = { ...methods, subscribeRoom: anything };
    const { room } = serveTopics<Served>(all, { room: "room.{id}" }, topics, { room: { authorize: "everybody" } });
    await room.subscribe({ id: "1" });
    const message = Array.from({ length: 10_000 }, () => ({})) as unknown as Message;
    await room.publish({ id: "1", message });
    expect(topics.stats().heldBytes).toBeGreaterThan(10_000 * 32);
  });

  it("are held within the bound for all of them also where one waits for each, and those lose them for whom most waits", async () => {
    const { rooms, topics } = served({ limits: { maxHeldBytes: 10_000 } });
    const honest = await rooms.room.subscribe({ id: "honest" });
    await rooms.room.publish({ id: "honest", message: { n: 7 } });
    for (let id = 0; id < 100; id++) {
      await rooms.room.subscribe({ id: String(id) });
      await rooms.room.publish({ id: String(id), message: { n: id, text: "x".repeat(1000) } });
    }
    expect(topics.stats().heldBytes).toBeLessThan(10_000);
    expect(await take(honest, 1)).toEqual([{ message: { n: 7 } }]);
  });

  it("refuse subscriptions and messages beyond their limits", async () => {
    const { rooms } = served({ limits: { maxSubscriptions: 1, maxMessageBytes: 100 } });
    await rooms.room.subscribe({ id: "1" });
    expect(await failure(rooms.room.subscribe({ id: "2" }))).toMatchObject({ code: "resource_exhausted" });
    const large = rooms.room.publish({ id: "1", message: { n: 1, text: "x".repeat(100) } });
    expect(await failure(large)).toMatchObject({ code: "resource_exhausted" });
    const misfit = rooms.room.publish({ id: "1", message: { n: 1.5 } });
    expect(await failure(misfit)).toMatchObject({ code: "invalid_argument" });
    expect(await failure(rooms.room.subscribe({ id: "" }))).toMatchObject({ code: "invalid_argument" });
  });

  it("end with the topics of the process, after what waits", async () => {
    const { rooms, topics } = served();
    const items = await rooms.room.subscribe({ id: "1" });
    await rooms.room.publish({ id: "1", message: { n: 1 } });
    await topics.close();
    expect(await take(items, 1)).toHaveLength(1);
    expect(await failure(take(items, 1))).toMatchObject({ code: "unavailable" });
    expect(await failure(rooms.room.publish({ id: "1", message: { n: 1 } }))).toMatchObject({ code: "unavailable" });
    expect(await failure(rooms.room.subscribe({ id: "1" }))).toMatchObject({ code: "unavailable" });
  });

  it("need to be told who may use them", () => {
    expect(() => serveTopics(methods, { room: "room.{id}" }, createTopics(), {})).toThrow(/room needs authorize/);
  });

  it("ask who publishes and who subscribes", async () => {
    const asked: unknown[] = [];
    const { router } = served({}, {
      authorize: (access, parameters) => {
        asked.push([access, parameters]);
        return access === "subscribe" && parameters.id === "mine";
      },
    } as Partial<TopicOptions<{ id: string }>> as Partial<TopicOptions<unknown>>);
    const caller = createLocalCaller([router]);
    const refused = { code: "permission_denied" };
    expect(await failure(caller.unary(methods.publishRoom, { id: "mine", message: { n: 1 } }))).toMatchObject(refused);
    const others = caller.serverStream(methods.subscribeRoom, { id: "yours" })[Symbol.asyncIterator]();
    expect(await failure(others.next())).toMatchObject(refused);
    await new Promise<void>((resolve) => {
      const onResponseMetadata = (): void => resolve();
      const own = caller.serverStream(methods.subscribeRoom, { id: "mine" }, { onResponseMetadata });
      void own;
    });
    expect(asked).toEqual([
      ["publish", { id: "mine" }],
      ["subscribe", { id: "yours" }],
      ["subscribe", { id: "mine" }],
    ]);
  });
});

describe("topics with history", () => {
  interface Log extends ServedTopics {
    readonly log: Topic<{ id: string; message: Message }, { id: string }, LogItem>;
  }
  interface LogItem {
    message?: Message | undefined;
    position: string;
  }
  function logged(limits: Partial<TopicLimits> = {}) {
    const topics = createTopics({ limits });
    const served: Log = serveTopics(logMethods, { log: "log.{id}" }, topics, { log: { authorize: "everybody" } });
    const publish = async (from: number, to: number, id = "1"): Promise<void> => {
      for (let n = from; n <= to; n++) await served.log.publish({ id, message: { n } });
    };
    const read = async (items: AsyncIterator<LogItem>, count: number): Promise<LogItem[]> => {
      const taken: LogItem[] = [];
      while (taken.length < count) taken.push(((await items.next()) as IteratorYieldResult<LogItem>).value);
      return taken;
    };
    const numbers = (items: readonly LogItem[]) => items.map(({ message }) => message?.n);
    return { log: served.log, topics, publish, read, numbers };
  }

  it("begin with a position, and go on after any", async () => {
    const { log, publish, read, numbers } = logged();
    await publish(1, 3);
    const items = await log.subscribe({ id: "1" });
    const [first] = await read(items, 1);
    expect(first).toEqual({ message: undefined, position: expect.any(String) });
    await publish(4, 6);
    const live = await read(items, 3);
    expect(numbers(live)).toEqual([4, 5, 6]);
    await publish(9, 9, "other");
    expect(numbers(await read(await log.subscribe({ id: "1" }, first?.position), 3))).toEqual([4, 5, 6]);
    expect(numbers(await read(await log.subscribe({ id: "1" }, live[0]?.position), 2))).toEqual([5, 6]);
    const all = await log.subscribe({ id: "1" }, "0");
    expect(numbers(await read(all, 6))).toEqual([1, 2, 3, 4, 5, 6]);
    await publish(7, 7);
    expect(numbers(await read(all, 1))).toEqual([7]);
  });

  it("say when a position is older than what is kept", async () => {
    const { log, publish, read, topics } = logged({ maxHistoryMessages: 3 });
    const [empty] = await read(await log.subscribe({ id: "1" }), 1);
    await publish(1, 2);
    const [one] = await read(await log.subscribe({ id: "1" }, "0"), 1);
    expect(await read(await log.subscribe({ id: "1" }, empty?.position), 2)).toHaveLength(2);
    await publish(3, 4);
    const gone = { code: "out_of_range", reason: "CURSOR_EXPIRED" };
    for (const position of [one?.position, empty?.position, "another-1", "nonsense"]) {
      const before = topics.stats().subscriptions;
      expect(await failure(read(await log.subscribe({ id: "1" }, position), 1))).toMatchObject(gone);
      expect(topics.stats().subscriptions).toBe(before);
    }
  });

  it("know a message by its id, for as long as they keep it", async () => {
    const { log, publish, read, numbers } = logged({ maxHistoryMessages: 2 });
    const named = (n: number, id = "1") => log.publish({ id, message: { n } }, { id: "a" });
    await named(1);
    await named(2);
    await publish(3, 3);
    expect(numbers(await read(await log.subscribe({ id: "1" }, "0"), 2))).toEqual([1, 3]);
    // Of another topic it is another message.
    await named(4, "2");
    expect(numbers(await read(await log.subscribe({ id: "2" }, "0"), 1))).toEqual([4]);
    await publish(5, 5);
    await named(6);
    expect(numbers(await read(await log.subscribe({ id: "1" }, "0"), 2))).toEqual([5, 6]);
  });

  it("refuse an id that nothing would remember", async () => {
    const { rooms } = served();
    const named = rooms.room.publish({ id: "1", message: { n: 1 } }, { id: "a" });
    await expect(named).rejects.toThrow(/no history/);
  });

  it("take a bounded number of bytes", async () => {
    const { log, publish, read, numbers } = logged({ maxHistoryBytes: 10_000 });
    for (let n = 0; n < 1000; n++) await publish(n, n, String(n));
    expect(numbers(await read(await log.subscribe({ id: "999" }, "0"), 1))).toEqual([999]);
    await publish(1, 1, "0");
    expect(numbers(await read(await log.subscribe({ id: "0" }, "0"), 1))).toEqual([1]);
  });

  it("count topics that have one message each", async () => {
    const { log, publish, topics } = logged({ maxHistoryBytes: 100_000 });
    const ids = Array.from({ length: 500 }, (_, n) => `${n}${"é".repeat(100)}`);
    for (const id of ids) await publish(1, 1, id);
    let kept = 0;
    for (const id of ids) {
      const items = await log.subscribe({ id }, "0");
      const first = items.next();
      // Where nothing is kept it waits for what comes.
      const has = await Promise.race([first.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
      if (has === true) kept++;
      await items.return?.();
    }
    expect(kept).toBeGreaterThan(10);
    expect(kept).toBeLessThan(100);
    await topics.close();
  });

  it("end who is too slow so that it goes on by itself", async () => {
    const { log, publish, read, numbers } = logged({ maxQueuedMessages: 4 });
    const items = await log.subscribe({ id: "1" });
    const [first] = await read(items, 1);
    await publish(1, 1);
    await read(items, 1);
    // Not taken meanwhile.
    await publish(2, 20);
    expect(await failure(read(items, 19))).toMatchObject({ code: "unavailable" });
    const rest = await log.subscribe({ id: "1" }, first?.position);
    expect(numbers(await read(rest, 20))).toHaveLength(20);
  });

  it("are refused where nothing keeps them", () => {
    const topics = createTopics({ bus: new TestBus() });
    const options = { log: { authorize: "everybody" } };
    expect(() => serveTopics(logMethods, { log: "log.{id}" }, topics, options)).toThrow(/history/);
  });
});

/** A message bus on which the test acts as the other processes. */
class TestBus implements TopicBus {
  readonly published: [string, Uint8Array][] = [];
  readonly receivers: Map<string, TopicReceiver> = new Map();
  ready: Promise<void> = Promise.resolve();
  closed = false;

  publish(topic: string, bytes: Uint8Array): undefined {
    this.published.push([topic, bytes]);
    this.receivers.get(topic)?.message(bytes);
  }

  subscribe(topic: string, receiver: TopicReceiver): BusSubscription {
    this.receivers.set(topic, receiver);
    return { ready: this.ready, end: () => void this.receivers.delete(topic) };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

describe("topics over a bus", () => {
  it("subscribe to it once for all, and no longer than they have to", async () => {
    const bus = new TestBus();
    const { rooms } = served({ bus });
    const one = await rooms.room.subscribe({ id: "a b" });
    const two = await rooms.room.subscribe({ id: "a b" });
    await rooms.room.publish({ id: "a b", message: { n: 1 } });
    expect(bus.published.map(([topic]) => topic)).toEqual(["test.v1.Rooms.room.a%20b"]);
    expect(await take(one, 1)).toEqual(await take(two, 1));
    await one.return?.();
    expect(bus.receivers.size).toBe(1);
    await two.return?.();
    expect(bus.receivers.size).toBe(0);
  });

  it("end where messages may be missing, so that subscribers start anew", async () => {
    const bus = new TestBus();
    const { rooms } = served({ bus });
    const items = await rooms.room.subscribe({ id: "1" });
    bus.receivers.get("test.v1.Rooms.room.1")?.interrupted("the broker was out of reach");
    expect(await failure(take(items, 1))).toMatchObject({ code: "unavailable" });
    const again = await rooms.room.subscribe({ id: "1" });
    await rooms.room.publish({ id: "1", message: { n: 1 } });
    expect(await take(again, 1)).toHaveLength(1);
  });

  it("are not subscribed to where the bus fails", async () => {
    const bus = new TestBus();
    const { rooms, topics } = served({ bus });
    bus.ready = Promise.reject(new Error("no permission"));
    expect(await failure(rooms.room.subscribe({ id: "1" }))).toMatchObject({ message: "no permission" });
    expect(topics.stats().subscriptions).toBe(0);
  });

  it("report what does not fit, and go on", async () => {
    const bus = new TestBus();
    const errors: unknown[] = [];
    const { rooms } = served({ bus, onError: (error) => errors.push(error) });
    const items = await rooms.room.subscribe({ id: "1" });
    bus.receivers.get("test.v1.Rooms.room.1")?.message(new Uint8Array([0xc1]));
    await rooms.room.publish({ id: "1", message: { n: 1 } });
    expect(await take(items, 1)).toHaveLength(1);
    expect(errors).toHaveLength(1);
  });
});
