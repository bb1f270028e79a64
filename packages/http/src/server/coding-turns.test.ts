import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished, vi } from "vitest";
import { ServerLoad } from "@quicrpc/core";
import { FairQueue } from "@quicrpc/core/internal";
import { newRouter } from "../../test/service.js";
import { ENVELOPE_COMPRESSED, writeEnvelope } from "../protocol/envelope.js";
import { inCodingTurn } from "./coding-turns.js";
import { createFetchHandler } from "./create-fetch-handler.js";

it("runs 16 compressions at once, then one for each that ends; clients take turns", async () => {
  const ends: (() => void)[] = [];
  const started: string[] = [];
  const bytes = new Uint8Array(1);
  const begin = (client: string): Promise<Uint8Array> =>
    inCodingTurn(client, () => {
      started.push(client);
      return new Promise((resolve, reject) =>
        ends.push(() => (ends.length % 2 === 0 ? resolve(bytes) : reject(new Error("damaged")))),
      );
    });
  const clients = [...Array.from({ length: 19 }, () => "a"), "b"];
  const outcomes = Promise.allSettled(clients.map(begin));
  expect(started).toEqual(clients.slice(0, 16));
  for (const [count, client] of [
    [17, "a"],
    [18, "b"],
    [19, "a"],
    [20, "a"],
  ] as const) {
    ends.shift()?.();
    await Promise.resolve();
    for (let turns = 0; turns < 10 && started.length < count; turns++) await Promise.resolve();
    expect(started).toHaveLength(count);
    expect(started.at(-1)).toBe(client);
  }
  for (const end of ends) end();
  await outcomes;
  let rest = 0;
  void Array.from({ length: 16 }, () => inCodingTurn("c", async () => ((rest += 1), await Promise.resolve(bytes))));
  expect(rest).toBe(16);
});

const envelope = (bytes: Uint8Array, flags = 0): Uint8Array<ArrayBuffer> => writeEnvelope({ flags, bytes });

/** Sends a request whose message, or that of its response, then waits for a turn. */
async function waitingRequest(path: string, headers: Record<string, string>, body: Uint8Array<ArrayBuffer>) {
  const ends: (() => void)[] = [];
  const bytes = new Uint8Array(0);
  const end = (): void => ends.forEach((resolve) => resolve());
  for (let i = 0; i < 16; i++) {
    void inCodingTurn("other", () => new Promise((resolve) => ends.push(() => resolve(bytes))));
  }
  onTestFinished(end);
  const push = vi.spyOn(FairQueue.prototype, "push").mockClear();
  onTestFinished(() => push.mockRestore());
  const load = new ServerLoad();
  const seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
  const leaving = new AbortController();
  const init = { method: "POST", headers, body, signal: leaving.signal };
  const handler = createFetchHandler({ routers: [newRouter(seen)], load });
  const answer = handler(new Request(`http://localhost/test.v1.Http/${path}`, init));
  await vi.waitUntil(() => push.mock.calls.length > 0, { interval: 1 });
  /** Ends the other turns, and resolves when the request has had its turn. */
  const giveTurn = async (): Promise<void> => {
    const last = inCodingTurn("last", () => Promise.resolve(bytes));
    end();
    await last;
  };
  return { answer, load, leaving, giveTurn };
}

const text = Buffer.from(JSON.stringify({ text: "a".repeat(2000) }));
const json = { "content-type": "application/json" };
const connect = { "content-type": "application/connect+json" };
const gzipped = { "connect-content-encoding": "gzip" };

it.each<[string, string, Record<string, string>, Uint8Array<ArrayBuffer>]>([
  ["a message", "change", { ...json, "content-encoding": "gzip", "accept-encoding": "identity" }, gzipSync(text)],
  ["an item", "sum", { ...connect, ...gzipped }, envelope(gzipSync("1"), ENVELOPE_COMPRESSED)],
  ["the only message in an envelope", "items", { ...connect, ...gzipped }, envelope(gzipSync('{"n":0}'), 1)],
  ["a response", "change", { ...json, "accept-encoding": "gzip" }, text],
  [
    "an item of a response",
    "items",
    { ...connect, "connect-accept-encoding": "gzip" },
    envelope(Buffer.from('{"n":1,"size":2000}')),
  ],
])("%s takes no turn if the client has gone", async (_, path, headers, body) => {
  const made: string[] = [];
  for (const name of ["CompressionStream", "DecompressionStream"] as const) {
    const Platform = globalThis[name];
    class Counted extends Platform {
      constructor(format: CompressionFormat) {
        super(format);
        made.push(name);
      }
    }
    vi.stubGlobal(name, Counted);
  }
  onTestFinished(() => void vi.unstubAllGlobals());
  const gone = await waitingRequest(path, headers, body);
  gone.leaving.abort();
  await gone.giveTurn();
  expect(made).toHaveLength(0);
  const present = await waitingRequest(path, headers, body);
  await present.giveTurn();
  expect(made).toHaveLength(1);
  const answer = await present.answer;
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
});

it("counts a compressed item while it waits", async () => {
  const { load, leaving, giveTurn } = await waitingRequest(
    "sum",
    { ...connect, ...gzipped },
    envelope(randomBytes(50_000), ENVELOPE_COMPRESSED),
  );
  load.measure();
  expect(load.held).toBeGreaterThan(50_000);
  leaving.abort();
  await giveTurn();
  await vi.waitUntil(() => load.held === 0, { interval: 1 });
});
