import { setImmediate } from "node:timers/promises";
import type { Topics } from "@quicrpc/topics";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { type LogItem, type RoomItem, serveRooms } from "../../../test/rooms.js";
import { topicLogContract } from "../../../test/topic-log-contract.js";
import { type NatsHistory, natsTopics, type NatsTopicsOptions } from "../src/index.js";
import { NatsProcess, natsServer, WITHOUT_NATS } from "./nats-server.js";
import { Proxy } from "./proxy.js";

/** Notices a server that is gone sooner than one would want in production. */
const quick = { pingInterval: 100, maxPingOut: 2, reconnectTimeWait: 20 };

describe("topics over NATS", () => {
  let nats: NatsProcess;
  let proxy: Proxy;
  const opened: Topics[] = [];

  beforeEach(async (context: TestContext) => {
    if (natsServer === undefined) context.skip(WITHOUT_NATS);
    nats = new NatsProcess();
    await nats.start();
    proxy = await Proxy.listen(() => nats.port);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((topics) => topics.close()));
    proxy?.close();
    await nats?.remove();
  });

  async function open(servers: string, options: Partial<NatsTopicsOptions> = {}) {
    const topics = await natsTopics({ servers, timeoutMs: 1000, connection: quick, ...options });
    opened.push(topics);
    return serveRooms(topics, undefined, false).room;
  }

  async function openLog(servers: string, history: NatsHistory = {}) {
    const topics = await natsTopics({ servers, timeoutMs: 10_000, connection: quick, history });
    opened.push(topics);
    return serveRooms(topics).log;
  }

  topicLogContract("a log in JetStream", (maxMessages) => openLog(nats.url, { maxMessages }));

  it("carry messages to all processes, their own included, in order", async () => {
    const rooms = [await open(nats.url), await open(nats.url)];
    const subscribers = await Promise.all(rooms.map((room) => room.subscribe({ id: "a.b *>" })));
    for (let n = 0; n < 200; n++) await rooms[n % 2]?.publish({ id: "a.b *>", message: { n, text: "" } });
    for (const items of subscribers)
      expect(await numbers(items, 200)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });

  it("keep applications with other prefixes apart", async () => {
    const one = await open(nats.url, { prefix: "one" });
    const two = await open(nats.url, { prefix: "two" });
    const items = await one.subscribe({ id: "1" });
    await two.publish({ id: "1", message: { n: 1, text: "" } });
    await one.publish({ id: "1", message: { n: 2, text: "" } });
    expect(await numbers(items, 1)).toEqual([2]);
    await expect(natsTopics({ servers: nats.url, prefix: "a.*" })).rejects.toThrow(/prefix/);
  });

  it("lose nothing in silence when the server is killed: who subscribes is told, and who publishes", async () => {
    const publisher = await open(nats.url);
    const subscriber = await open(nats.url);
    const COUNT = 60;
    const confirmed: number[] = [];
    const received: number[] = [];
    /** Numbers before which the subscriber was told that some may be missing. */
    const told = new Set<number>();
    const reading = (async () => {
      while (received.at(-1) !== COUNT - 1) {
        try {
          let first = received.length > 0;
          for await (const { message } of await subscriber.subscribe({ id: "1" })) {
            if (first) told.add(message.n);
            first = false;
            received.push(message.n);
            if (message.n === COUNT - 1) break;
          }
        } catch (error) {
          expect(error).toMatchObject({ code: "unavailable" });
        }
      }
    })();
    // Until the last arrives: the subscriber may be about to subscribe.
    for (let n = 0; received.at(-1) !== COUNT - 1; n = Math.min(n + 1, COUNT - 1)) {
      if (n === 20) {
        await nats.kill();
        await nats.start();
      }
      try {
        await publisher.publish({ id: "1", message: { n, text: "" } });
        confirmed.push(n);
      } catch (error) {
        expect(error).toMatchObject({ code: "unavailable" });
        await setImmediate();
      }
    }
    await reading;
    const missing = confirmed.filter((n) => !received.includes(n));
    for (const n of missing) {
      const next = received.find((each) => each > n);
      expect(told.has(next as number) || received.indexOf(next as number) === 0).toBe(true);
    }
  });

  it("say so when the server is out of reach, and go on when it is back", async () => {
    const near = await open(nats.url);
    const far = await open(proxy.url);
    const items = await far.subscribe({ id: "1" });
    proxy.pause();
    const lost = far.publish({ id: "1", message: { n: 1, text: "" } });
    await expect(lost).rejects.toMatchObject({ code: "unavailable" });
    await expect(items.next()).rejects.toMatchObject({ code: "unavailable" });
    await expect(far.subscribe({ id: "1" })).rejects.toMatchObject({ code: "unavailable" });
    proxy.resume();
    const again = await subscribed(() => far.subscribe({ id: "1" }));
    await near.publish({ id: "1", message: { n: 2, text: "" } });
    expect(await numbers(again, 1)).toEqual([2]);
  });

  it("hold a bounded number of bytes for a server that is slow, and lose none that were taken", async () => {
    const near = await open(nats.url);
    const far = await open(proxy.url, { maxUnconfirmedBytes: 100_000, connection: { ...quick, pingInterval: 60_000 } });
    const items = await near.subscribe({ id: "1" });
    proxy.pause();
    const text = "x".repeat(1000);
    const published = Array.from({ length: 200 }, (_, n) => far.publish({ id: "1", message: { n, text } }));
    const outcomes = Promise.allSettled(published);
    proxy.resume();
    const taken = (await outcomes).flatMap(({ status }, n) => (status === "fulfilled" ? [n] : []));
    const refused = (await outcomes).find(({ status }) => status === "rejected");
    expect(refused).toMatchObject({ reason: { code: "resource_exhausted" } });
    expect(taken.length).toBeGreaterThan(90);
    expect(taken.length).toBeLessThan(100);
    expect(await numbers(items, taken.length)).toEqual(taken);
  });

  it("lose nothing where history was asked for, though the server is killed while messages come", async () => {
    const publisher = await openLog(nats.url);
    const subscriber = await openLog(nats.url);
    const COUNT = 60;
    const items = await subscriber.subscribe({ id: "1" });
    const begun = (await items.next()).value as LogItem;
    const publishing = (async () => {
      for (let n = 0; n < COUNT; n++) {
        await publisher.publish({ id: "1", message: { n, text: "" } });
        if (n === 20) void nats.kill().then(() => nats.start());
      }
    })();
    const received = await logged(items, COUNT);
    await publishing;
    const all = Array.from({ length: COUNT }, (_, n) => n);
    expect(received.map(({ message }) => message?.n)).toEqual(all);
    // Another process continues after any position, and reads earlier messages.
    const other = await openLog(nats.url);
    const after = await other.subscribe({ id: "1" }, received[39]?.position);
    expect(await logged(after, 20)).toEqual(received.slice(40));
    await publisher.publish({ id: "1", message: { n: COUNT, text: "" } });
    expect((await logged(after, 1))[0]?.message?.n).toBe(COUNT);
    const whole = await other.subscribe({ id: "1" }, begun.position);
    expect(await logged(whole, COUNT)).toEqual(received);
  });

  it("know a message by its id, whichever process published it", async () => {
    const processes = [await openLog(nats.url), await openLog(nats.url)];
    const items = await processes[0]?.subscribe({ id: "1" });
    for (const n of [1, 2]) {
      for (const log of processes) await log.publish({ id: "1", message: { n, text: "" } }, { id: `é ${n}\n` });
    }
    // The same id in another topic is another message.
    await processes[1]?.publish({ id: "2", message: { n: 3, text: "" } }, { id: "é 1\n" });
    await processes[1]?.publish({ id: "1", message: { n: 4, text: "" } });
    const received = await logged(items as AsyncIterator<LogItem>, 4);
    expect(received.map(({ message }) => message?.n)).toEqual([undefined, 1, 2, 4]);
    const other = await processes[0]?.subscribe({ id: "2" }, "0");
    expect((await logged(other as AsyncIterator<LogItem>, 1))[0]?.message?.n).toBe(3);
  });

  it("say when a position is older than what the stream keeps", async () => {
    const log = await openLog(nats.url, { maxMessages: 3, stream: "short" });
    const items = await log.subscribe({ id: "1" });
    const begun = (await items.next()).value as LogItem;
    for (let n = 0; n < 5; n++) await log.publish({ id: "1", message: { n, text: "" } });
    const [first, , third] = await logged(items, 5);
    expect(await logged(await log.subscribe({ id: "1" }, third?.position), 2)).toHaveLength(2);
    for (const position of [begun.position, first?.position]) {
      const gone = (await log.subscribe({ id: "1" }, position)).next();
      await expect(gone).rejects.toMatchObject({ code: "out_of_range", reason: "CURSOR_EXPIRED" });
    }
  });

  it("refuse what the server would not take", async () => {
    const room = await open(nats.url, { limits: { maxMessageBytes: 10_000_000 } });
    const large = room.publish({ id: "1", message: { n: 1, text: "x".repeat(2_000_000) } });
    await expect(large).rejects.toMatchObject({ code: "resource_exhausted" });
  });
});

async function numbers(items: AsyncIterator<RoomItem>, count: number): Promise<number[]> {
  const taken: number[] = [];
  while (taken.length < count) taken.push(((await items.next()).value as RoomItem).message.n);
  return taken;
}

/** Takes so many items of a topic with history. */
async function logged(items: AsyncIterator<LogItem>, count: number): Promise<LogItem[]> {
  const taken: LogItem[] = [];
  while (taken.length < count) taken.push((await items.next()).value as LogItem);
  return taken;
}

/** Tries until it can subscribe. */
async function subscribed<T>(subscribe: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await subscribe();
    } catch (error) {
      expect(error).toMatchObject({ code: "unavailable" });
      await setImmediate();
    }
  }
}
