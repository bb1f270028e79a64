// Measures the cost of `resumable: true` for a stream whose session is never lost, over QUIC between two processes:
// `npm run bench resumable -- [items] [rounds]`. Plain and resumable streams take turns, so that other load on the
// machine affects both.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { durableRouter, resumableCalls } from "@quicrpc/durable/generated";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { z } from "zod";
import { median } from "./median.js";

const service = { name: "bench.v1.Resumable", id: 4737 };
const item = zodCodec(z.object({ n: z.int(), text: z.string() }));
const count = zodCodec(z.int());
const reading = { input: count, output: item };
const writing = { input: item, output: count };
const methods = {
  read: defineMethod(service, "server_stream", "read", { id: 1, ...reading }),
  keptRead: defineMethod(service, "server_stream", "keptRead", { id: 2, ...reading, extension: resumableCalls }),
  write: defineMethod(service, "client_stream", "write", { id: 3, ...writing }),
  keptWrite: defineMethod(service, "client_stream", "keptWrite", { id: 4, ...writing, extension: resumableCalls }),
};
const TEXT = "a small item of a stream";

function* items(of: number): Iterable<{ n: number; text: string }> {
  for (let n = 0; n < of; n++) yield { n, text: TEXT };
}

async function amount(of: AsyncIterable<unknown>): Promise<number> {
  let received = 0;
  for await (const _ of of) received++;
  return received;
}

/** Cost of a stream: milliseconds, and microseconds of CPU of both processes. */
interface Took {
  readonly ms: number;
  readonly cpu: number;
}

await (process.send === undefined ? measure() : answer());

async function answer(): Promise<void> {
  const server = await serve({
    listen: "quic://127.0.0.1:0",
    tls: await devCertificate(),
    routers: [durableRouter(createRouter(methods, { read: items, keptRead: items, write: amount, keptWrite: amount }))],
  });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(server.urls[0]);
}

async function measure(): Promise<void> {
  const [length = 100_000, rounds = 20] = process.argv.slice(2).map(Number);
  const child = fork(fileURLToPath(import.meta.url));
  const [url] = (await once(child, "message")) as [string];
  const { hash } = await devCertificate();
  const connection = await connect(url, { serverCertificateHashes: [hash] });
  const cpuOfBoth = async (): Promise<number> => {
    child.send("cpu");
    const [theirs] = (await once(child, "message")) as [number];
    const { user, system } = process.cpuUsage();
    return theirs + user + system;
  };
  const take = async (run: () => Promise<number>): Promise<Took> => {
    const before = await cpuOfBoth();
    const began = performance.now();
    if ((await run()) !== length) throw new Error("items are missing");
    const ms = performance.now() - began;
    return { ms, cpu: (await cpuOfBoth()) - before };
  };
  const kinds = {
    "server stream": [
      () => amount(connection.serverStream(methods.read, length)),
      () => amount(connection.serverStream(methods.keptRead, length)),
    ],
    "client stream": [
      () => connection.clientStream(methods.write, items(length)),
      () => connection.clientStream(methods.keptWrite, items(length)),
    ],
  } as const;
  for (const [name, [plain, resumable]] of Object.entries(kinds)) {
    const pairs: [plain: Took, resumable: Took][] = [];
    for (let round = -3; round < rounds; round++) {
      const isPlainFirst = round % 2 === 0;
      const first = await take(isPlainFirst ? plain : resumable);
      const second = await take(isPlainFirst ? resumable : plain);
      if (round >= 0) pairs.push(isPlainFirst ? [first, second] : [second, first]);
    }
    const speed = median(pairs.map(([before, after]) => before.ms / after.ms));
    const cpu = median(pairs.map(([before, after]) => after.cpu / before.cpu));
    const rate = median(pairs.map(([{ ms }]) => length / ms));
    const microsPerItem = median(pairs.map(([before]) => before.cpu / length));
    console.log(
      `${name}: ${speed.toFixed(3)} of a plain one's items/s (${rate.toFixed(0)} thousand), ` +
        `${cpu.toFixed(3)} of its CPU per item (${microsPerItem.toFixed(2)} µs, both ends)`,
    );
  }
  await connection.close();
  child.kill();
}
