// Transfers over sessions that end at any step: each is as if nothing had been lost.
import { createConnection, ServerLoad } from "@quicrpc/core";
import type { Connection } from "@quicrpc/core";
import type { BlobSource } from "@quicrpc/blobs";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pass, startVirtualTime } from "../../packages/core/test/virtual-time.js";
import { blobMethods, inChunks, Keeper, patterned } from "./blob-service.js";
import { endingSessions } from "./stepped.js";

beforeEach(() => startVirtualTime());
afterEach(() => void vi.useRealTimers());

/** Parts of a transfer. */
interface Transfer {
  readonly length: number;
  readonly chunk: number;
  readonly source: keyof typeof sources;
}

const sources = {
  blob: ({ length }: Transfer): BlobSource => new Blob([patterned(length)]),
  stream: ({ length, chunk }: Transfer): BlobSource => inChunks(patterned(length), chunk),
  function: ({ length, chunk }: Transfer): BlobSource => ({
    content: () => inChunks(patterned(length), chunk),
    length,
  }),
};

type Way = (connection: Connection, keeper: Keeper, transfer: Transfer) => Promise<Uint8Array>;

const ways: Record<"upload" | "download", Way> = {
  upload: async (connection, keeper, transfer) => {
    const told = await connection.unary(blobMethods.upload, { file: sources[transfer.source](transfer) });
    expect(told).toBe(transfer.length);
    expect(keeper.parts.size, "uploads that were begun").toBe(1);
    return keeper.bytes;
  },
  download: async (connection, keeper, transfer) => {
    keeper.source = () => sources[transfer.source](transfer);
    const { file } = await connection.unary(blobMethods.download, 1);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file) chunks.push(chunk);
    return Buffer.concat(chunks);
  },
};

/** Makes a transfer over sessions that end at the given step; returns how many steps the last one had. */
async function run(way: Way, transfer: Transfer, end: number, by: "client" | "server"): Promise<number> {
  const keeper = new Keeper();
  const load = new ServerLoad();
  const options = { routers: [keeper.router], load, onError: () => {} };
  const sessions = endingSessions(options, end, (session) => void session[by].close({ closeCode: 9 }));
  const connection = createConnection(sessions.dial);
  const over: true[] = [];
  const transferring = way(connection, keeper, transfer).finally(() => over.push(true));
  transferring.catch(() => {});
  for (let i = 0; over.length === 0 && i < 2000; i++) await pass(1000);
  const arrived = await transferring;
  expect(Buffer.compare(arrived, patterned(transfer.length)), `the bytes, ended at step ${end} by ${by}`).toBe(0);
  expect(connection.state).not.toHaveProperty("resuming");
  await connection.close({ closeCode: 9 });
  await pass(60_000);
  expect(load.handlers, "handlers that count").toBe(0);
  load.measure();
  expect(load.held, "bytes that are held").toBe(0);
  return sessions.steps;
}

const cases = (["upload", "download"] as const).flatMap((name) =>
  (["client", "server"] as const).flatMap((by) =>
    (Object.keys(sources) as (keyof typeof sources)[]).map((source) => ({ name, by, source })),
  ),
);

describe.each(cases)("$name of a $source over sessions that the $by loses", ({ name, by, source }) => {
  it("C88 arrives whole, lost at any step", async () => {
    const transfer: Transfer = { length: 40_000, chunk: 9000, source };
    const steps = await run(ways[name], transfer, Number.POSITIVE_INFINITY, by);
    for (let end = 1; end <= steps; end++) await run(ways[name], transfer, end, by);
  });

  it("C88 arrives whole, whatever its length, its chunks and the step", async () => {
    const transfers = fc.record({
      length: fc.integer({ min: 0, max: 100_000 }),
      chunk: fc.integer({ min: 500, max: 100_000 }),
      end: fc.integer({ min: 1, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(transfers, async ({ end, ...sized }) => {
        await run(ways[name], { ...sized, source }, end, by);
      }),
      { numRuns: 15 },
    );
  });
});
