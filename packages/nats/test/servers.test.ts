// Two servers connected by NATS: one fails while messages arrive, and no subscriber notices.
import { connectPool, devCertificate, serve, type Server } from "@quicrpc/node";
import { expect, it } from "vitest";
import { type LogItem, roomMethods, routerOf, serveRooms } from "../../../test/rooms.js";
import { natsTopics } from "../src/index.js";
import { NatsProcess, natsServer, WITHOUT_NATS } from "./nats-server.js";

const CLIENTS = 6;
const COUNT = 60;

it("a server dies, and its subscribers go on at the other without a gap", async (context) => {
  if (natsServer === undefined) context.skip(WITHOUT_NATS);
  const nats = new NatsProcess();
  await nats.start();
  const tls = await devCertificate();
  const start = async () => {
    const topics = await natsTopics({ servers: nats.url, history: true });
    const routers = [routerOf(serveRooms(topics))];
    return { topics, server: await serve({ listen: ["tls://127.0.0.1:0"], tls, routers }) };
  };
  const servers = [await start(), await start()] as const;
  const urls = servers.map(({ server }) => server.urls[0] as string);
  const pools = Array.from({ length: CLIENTS }, () => connectPool(urls, { serverCertificateHashes: [tls.hash] }));
  try {
    const all = await Promise.all(pools);
    const subscribers = await Promise.all(
      all.map(async (pool) => {
        const items = pool.serverStream(roomMethods.subscribeLog, { id: "1" })[Symbol.asyncIterator]();
        // It has begun: what is published from now on arrives.
        expect((await items.next()).value).toMatchObject({ position: expect.any(String) });
        return items;
      }),
    );
    const publisher = all[0];
    const reading = subscribers.map((items) => taken(items));
    for (let n = 0; n < COUNT; n++) {
      if (n === COUNT / 2) await end(servers[0].server);
      const publish = () => publisher?.unary(roomMethods.publishLog, { id: "1", message: { n, text: "" } });
      // The server that is asked may be the one that dies: a message that came twice is known by its number.
      await publish()?.catch(publish);
    }
    for (const numbers of await Promise.all(reading)) {
      expect([...new Set(numbers)]).toEqual(Array.from({ length: COUNT }, (_, n) => n));
    }
  } finally {
    await Promise.all(pools.map(async (pool) => (await pool).close()));
    await Promise.all(servers.map(({ server }) => server.close()));
    await Promise.all(servers.map(({ topics }) => topics.close()));
    await nats.remove();
  }
});

async function end(server: Server): Promise<void> {
  await server.close({ closeCode: 1 });
}

/** The numbers of the messages until the last. */
async function taken(items: AsyncIterator<LogItem>): Promise<number[]> {
  const numbers: number[] = [];
  while (numbers.at(-1) !== COUNT - 1) {
    const { message } = (await items.next()).value as LogItem;
    if (message !== undefined) numbers.push(message.n);
  }
  return numbers;
}
