import { createTopics, type TopicLimits, type Topics } from "@quicrpc/topics";
import { afterEach, describe, expect, it } from "vitest";
import { everybody, type LogItem, type RoomItem, roomMethods, type Rooms, routerOf, serveRooms } from "../rooms.js";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods } from "./service.js";
import { failure } from "./tools.js";

describe.each(distinctKinds)("topics: $name", (kind) => {
  let pair: Pair;
  let topics: Topics;
  let served: Rooms;
  afterEach(() => pair.close());

  async function connect(options = everybody, limits: Partial<TopicLimits> = {}): Promise<void> {
    topics = createTopics({ limits });
    served = serveRooms(topics, options);
    pair = await kind.connect(undefined, { server: { routers: [routerOf(served)] } });
  }

  /** Subscribes; what is published from then on arrives. */
  async function subscribed(via?: "lane" | "stream"): Promise<AsyncIterator<RoomItem>> {
    let items: AsyncIterable<RoomItem> | undefined;
    await new Promise<void>((resolve) => {
      items = pair.client.serverStream(
        roomMethods.subscribeRoom,
        { id: "1" },
        { via, onResponseMetadata: () => resolve() },
      );
    });
    return (items as AsyncIterable<RoomItem>)[Symbol.asyncIterator]();
  }

  it("C79 messages reach all who subscribe, in order, encoded once", async () => {
    await connect();
    const subscribers = [await subscribed("lane"), await subscribed("stream"), await subscribed()];
    for (let n = 0; n < 5; n++) {
      await pair.client.unary(roomMethods.publishRoom, { id: "1", message: { n, text: "" } });
      await pair.client.unary(roomMethods.publishRoom, { id: "2", message: { n, text: "elsewhere" } });
    }
    for (const items of subscribers) {
      for (let n = 0; n < 5; n++) {
        expect(await items.next()).toEqual({ done: false, value: { message: { n, text: "" } } });
      }
      await items.return?.();
    }
    while (topics.stats().subscriptions > 0) await pair.client.unary(methods.echo, { text: "tick" });
    expect(topics.stats()).toEqual({ topics: 0, subscriptions: 0, heldBytes: 0 });
  });

  it.each(["lane", "stream"] as const)(
    "C79 by %s, who is too slow hears how many messages it has lost",
    async (via) => {
      await connect(everybody, { maxQueuedMessages: 8 });
      const items = await subscribed(via);
      const text = "x".repeat(64 * 1024);
      const COUNT = 400;
      for (let n = 0; n < COUNT; n++) await served.room.publish({ id: "1", message: { n, text } });
      let next = 0;
      let lost = 0;
      while (next < COUNT) {
        const { value } = await items.next();
        const item = value as RoomItem;
        expect(item.message.n).toBe(next + (item.lost ?? 0));
        next = item.message.n + 1;
        lost += item.lost ?? 0;
        // Let through what the reader makes room for.
        if (next < COUNT) await pair.client.unary(methods.echo, { text: "tick" });
      }
      expect(lost).toBeGreaterThan(0);
      await items.return?.();
    },
  );

  it("C79 who is too slow is ended where the topic says so", async () => {
    await connect({ ...everybody, slow: "end" }, { maxQueuedMessages: 8 });
    const items = await subscribed();
    const text = "x".repeat(64 * 1024);
    for (let n = 0; n < 400; n++) await served.room.publish({ id: "1", message: { n, text } });
    const read = async (): Promise<void> => {
      while ((await items.next()).done !== true);
    };
    expect(await failure(read())).toMatchObject({ code: "resource_exhausted" });
    expect(topics.stats()).toEqual({ topics: 0, subscriptions: 0, heldBytes: 0 });
  });

  it("C79 who may not is refused, and the end of a session ends its subscriptions", async () => {
    await connect({ authorize: (access) => access === "subscribe" });
    const published = pair.client.unary(roomMethods.publishRoom, { id: "1", message: { n: 1, text: "" } });
    expect(await failure(published)).toMatchObject({ code: "permission_denied" });
    const items = await subscribed();
    expect(topics.stats().subscriptions).toBe(1);
    const end = failure(items.next());
    await pair.client.close();
    expect(await end).toMatchObject({ code: "unavailable" });
    await pair.server.closed;
    await Promise.resolve();
    expect(topics.stats().subscriptions).toBe(0);
  });

  it("C79 with history, a subscriber goes on after what it had, and hears first where it began", async () => {
    await connect();
    const read = async (items: AsyncIterator<LogItem>, count: number): Promise<LogItem[]> => {
      const taken: LogItem[] = [];
      while (taken.length < count) taken.push((await items.next()).value as LogItem);
      return taken;
    };
    const subscribe = (from?: string): AsyncIterator<LogItem> =>
      pair.client.serverStream(roomMethods.subscribeLog, { id: "1" }, { from })[Symbol.asyncIterator]();
    const items = subscribe();
    const [begun] = await read(items, 1);
    for (let n = 0; n < 5; n++) {
      await pair.client.unary(roomMethods.publishLog, { id: "1", message: { n, text: "" } });
    }
    const five = await read(items, 5);
    expect(five.map(({ message }) => message?.n)).toEqual([0, 1, 2, 3, 4]);
    await items.return?.();
    const again = subscribe(begun?.position);
    expect(await read(again, 5)).toEqual(five);
    await again.return?.();
    const later = subscribe(five[2]?.position);
    expect(await read(later, 2)).toEqual(five.slice(3));
    await later.return?.();
    expect(await failure(read(subscribe("another-1"), 1))).toMatchObject({ reason: "CURSOR_EXPIRED" });
  });

  it("C79 the topics' end is their subscribers'", async () => {
    await connect();
    const items = await subscribed();
    const end = failure(items.next());
    await topics.close();
    expect(await end).toMatchObject({ code: "unavailable" });
  });
});
