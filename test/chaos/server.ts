// The server of the chaos tests, in a process of its own that is killed and started again.
import { openSync, writeSync } from "node:fs";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, serve } from "@quicrpc/node";
import { type Held, methods, type ServerSettings } from "./contract.js";

const { listen, journal } = JSON.parse(process.argv[2] ?? "{}") as ServerSettings;
// Appended at once: a line that was written stays when the process is killed.
const file = openSync(journal, "a");
let running = 0;

async function told<T>(call: number, handler: () => T | Promise<T>): Promise<T> {
  running++;
  writeSync(file, `+ ${call}\n`);
  try {
    return await handler();
  } finally {
    running--;
    writeSync(file, `- ${call}\n`);
  }
}

async function* toldItems(call: number, items: AsyncIterable<number> | Iterable<number>): AsyncGenerator<number> {
  running++;
  writeSync(file, `+ ${call}\n`);
  try {
    yield* items;
  } finally {
    running--;
    writeSync(file, `- ${call}\n`);
  }
}

async function first(input: AsyncIterator<number>): Promise<number> {
  const { value, done } = await input.next();
  if (done === true) throw new Error("the call has no number");
  return value;
}

const router = createRouter(methods, {
  echo: (call) => told(call, () => call),
  items: (call) =>
    toldItems(
      call,
      Array.from({ length: 20 }, (_, i) => i + 1),
    ),
  count: async (input) => {
    const items = input.values();
    const call = await first(items);
    return told(call, async () => {
      let count = 0;
      for await (const _ of items) count++;
      return count;
    });
  },
  async *chat(input) {
    const items = input.values();
    const call = await first(items);
    yield* toldItems(call, items);
  },
  hold: (call, { signal }) =>
    told(call, async () => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return call;
    }),
  mirror: (bytes) => bytes,
});

const { cert, key } = await devCertificate();
const server = await serve({ listen: [listen], tls: { cert, key }, routers: [router], onError: () => {} });

process.on("message", () => {
  globalThis.gc?.();
  setImmediate(() => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ live: heapUsed + external, running } satisfies Held);
  });
});
process.send?.(server.urls[0]);
