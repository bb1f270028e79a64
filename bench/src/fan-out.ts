// The cost, to a server, of one message to many subscribers: `npm run bench fan-out -- [subscribers] [sessions] [bytes]`.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createTopics } from "@quicrpc/topics";
import { devCertificate, dial, serve } from "@quicrpc/node";
import { createTopicRouter, type ServedTopic, type ServedTopics, serveTopics } from "@quicrpc/topics/generated";
import { z } from "zod";

const MESSAGES = 20;

const service = { name: "bench.v1.Rooms", id: 4716 };
const message = z.object({ n: z.int(), text: z.string() });
const methods = {
  publishRoom: defineMethod(service, "unary", "publishRoom", { id: 1, input: zodCodec(z.object({ message })) }),
  subscribeRoom: defineMethod(service, "server_stream", "subscribeRoom", {
    id: 2,
    output: zodCodec(z.object({ message, lost: z.int().optional() })),
  }),
};
interface Rooms extends ServedTopics {
  readonly room: ServedTopic<{ message: z.infer<typeof message> }, void, unknown>;
}

const [subscribers = 10_000, sessions = 100, bytes = 100] = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith("quic:"))
  .map(Number);
const url = process.argv.find((argument) => argument.startsWith("quic:"));
await (url === undefined ? measure() : subscribe(url));

/** Runs the server: publishes messages and prints their cost. */
async function measure(): Promise<void> {
  const topics = createTopics();
  const rooms: Rooms = serveTopics(methods, { room: "room" }, topics, { room: { authorize: "everybody" } });
  const router = createTopicRouter(methods, {}, rooms);
  const limits = { maxServerBytes: 1024 * 1024 * 1024 };
  const server = await serve({ port: 0, tls: await devCertificate(), routers: [router], limits });
  const idle = process.memoryUsage().rss;
  const args = [String(subscribers), String(sessions), String(bytes), server.urls[0] ?? ""];
  const child = fork(fileURLToPath(import.meta.url), args);
  await once(child, "message");
  const subscribed = process.memoryUsage().rss;
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage();
    const began = performance.now();
    for (let n = 0; n < MESSAGES; n++) {
      await rooms.room.publish({ message: { n, text: "x".repeat(bytes) } });
      await once(child, "message");
    }
    const { user, system } = process.cpuUsage(before);
    const deliveries = MESSAGES * subscribers;
    const micros = ((user + system) / deliveries).toFixed(2);
    const ms = ((performance.now() - began) / MESSAGES).toFixed(1);
    console.log(
      `${subscribers} subscribers on ${sessions} sessions, ${bytes} B: ${micros} µs of CPU per delivery, ${ms} ms until all have it`,
    );
  }
  console.log(`${((subscribed - idle) / subscribers / 1024).toFixed(1)} KiB per subscription`);
  await server.close();
  child.kill();
}

/** Runs the clients. */
async function subscribe(to: string): Promise<void> {
  const { hash } = await devCertificate();
  let live = 0;
  let received = 0;
  for (let made = 0; made < sessions; made++) {
    const session = await dial(to, { serverCertificateHashes: [hash] });
    for (let i = 0; i < subscribers / sessions; i++) {
      const items = session.serverStream(methods.subscribeRoom, undefined, {
        onResponseMetadata: () => void (++live === subscribers && process.send?.("live")),
      });
      void (async () => {
        for await (const _ of items) if (++received % subscribers === 0) process.send?.("received");
      })().catch(() => {});
    }
  }
}
