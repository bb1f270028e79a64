import { expect, it } from "vitest";
import { ITEM_BYTES, MemoryBudget } from "@quicrpc/core/internal";
import { RetainedContent } from "./retained-content.js";
import { createSha256 } from "./sha256.js";
import { turnsDuring } from "../../core/test/turns.js";

const CHUNK = 1000;
const COUNTED = CHUNK + ITEM_BYTES;

/** Creates a source of ten chunks, each filled with its number. Also reports whether its reader has stopped. */
function source(): { content: AsyncGenerator<Uint8Array>; state: { given: number; left: boolean } } {
  const state = { given: 0, left: false };
  const content = (async function* () {
    try {
      for (; state.given < 10; state.given++) yield new Uint8Array(CHUNK).fill(state.given);
    } finally {
      state.left = true;
    }
  })();
  return { content, state };
}

async function taken(chunks: AsyncIterable<Uint8Array>, count: number): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) if (all.push(chunk) === count) break;
  return Buffer.concat(all);
}

const hashed = (bytes: Uint8Array): string => {
  const hash = createSha256();
  hash.update(bytes);
  return hash.hex();
};
const bytes = Buffer.concat(Array.from({ length: 10 }, (_, at) => new Uint8Array(CHUNK).fill(at)));

it("is read again from where it is retained, in the middle of a chunk too, with the digest of what is before", async () => {
  const retained = new RetainedContent(source().content);
  retained.countedBy(new MemoryBudget(1_000_000, "x"), 1_000_000);
  await taken(retained, 5);
  for (const from of [0, 1, 1500, 3000, 5000]) {
    const { chunks, at, hash } = await retained.open(from);
    expect(at).toBe(from);
    expect(hash?.hex()).toBe(hashed(bytes.subarray(0, from)));
    expect((await taken(chunks, 1000)).equals(bytes.subarray(from))).toBe(true);
  }
});

it("retains as much as it may, counts it, and says so where that is too little", async () => {
  const budget = new MemoryBudget(1_000_000, "x");
  const retained = new RetainedContent(source().content);
  retained.countedBy(budget, COUNTED * 3);
  await taken(retained, 6);
  expect(budget.held).toBe(COUNTED * 3);
  await expect(retained.open(2999)).rejects.toThrow(
    expect.objectContaining({ code: "out_of_range", hint: expect.stringContaining("maxRetainedBlobBytes") }),
  );
  expect((await retained.open(3500)).hash?.hex()).toBe(hashed(bytes.subarray(0, 3500)));
  const next = new MemoryBudget(COUNTED, "y");
  retained.countedBy(next, COUNTED * 3);
  expect([budget.held, next.held]).toEqual([0, COUNTED]);
  expect((await taken((await retained.open(5000)).chunks, 1000)).equals(bytes.subarray(5000))).toBe(true);
  retained.close();
  expect(next.held).toBe(0);
});

it("gives a chunk that an attempt waited for when it ended to the next", async () => {
  const retained = new RetainedContent(source().content);
  retained.countedBy(new MemoryBudget(1_000_000, "x"), 1_000_000);
  const before = (await retained.open(0)).chunks[Symbol.asyncIterator]();
  const waiting = before.next();
  const left = before.return?.();
  const all = await taken((await retained.open(0)).chunks, 1000);
  await waiting;
  await left;
  expect(all.equals(bytes)).toBe(true);
});

it("ends its source when it is closed, read or not", async () => {
  for (const chunks of [0, 3]) {
    const { content, state } = source();
    const retained = new RetainedContent(content);
    retained.countedBy(new MemoryBudget(1_000_000, "x"), 1_000_000);
    if (chunks > 0) await taken(retained, chunks);
    retained.close();
    await expect.poll(() => state.left || state.given === 0, { interval: 1 }).toBe(true);
    expect((await content.next()).done).toBe(true);
  }
});

it("others have their turns while what is before a position is hashed", async () => {
  const retained = new RetainedContent(
    (async function* () {
      for (let n = 0; n < 4; n++) yield new Uint8Array(1_048_576);
    })(),
  );
  retained.countedBy(new MemoryBudget(10_000_000, "x"), 10_000_000);
  await taken(retained, 4);
  const [turns] = await turnsDuring(() => retained.open(4_194_304));
  expect(turns).toBeGreaterThanOrEqual(15);
});
