// Resumable streams use the share of items that their session has in a turn of the event loop.
import { createConnection, createSession } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { expect, it, onTestFinished } from "vitest";
import { durableRouter, resumableCalls } from "../src/generated.js";

const service = { name: "test.v1.ResumableTurns", id: 7106 };
const output = uncheckedCodec<number>();
const kept = defineMethod(service, "server_stream", "kept", { id: 1, output, extension: resumableCalls });
const plain = defineMethod(service, "server_stream", "plain", { id: 2, output });
const router = durableRouter(createRouter({ kept, plain }, { kept: endless, plain: endless }));

function* endless(): Generator<number> {
  for (let i = 0; ; i++) yield i;
}

/** Reads streams of a client of its own without end; returns a function that counts their items. */
function read(method: typeof kept, streams: number): () => number {
  const client = createConnection(() => {
    const [ours, theirs] = createMemoryPair();
    createSession(theirs, { routers: [router] });
    return Promise.resolve(createSession(ours));
  });
  onTestFinished(() => void client.close());
  let items = 0;
  for (let i = 0; i < streams; i++) {
    const reading = (async () => {
      for await (const _ of client.serverStream(method, undefined)) items++;
    })();
    reading.catch(() => {});
  }
  return () => items;
}

it("a client with one stream receives as many items as another with many resumable ones", async () => {
  const greedy = read(kept, 200);
  while (greedy() < 20_000) await turn();
  const modest = read(plain, 1);
  while (modest() === 0) await turn();
  const [before, own] = [greedy(), modest()];
  for (let i = 0; i < 200; i++) await turn();
  expect((greedy() - before) / (modest() - own)).toBeLessThan(2);
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
