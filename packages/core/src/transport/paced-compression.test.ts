import { expect, it, vi } from "vitest";
import type { Compression } from "../contract/compression.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { MemoryBudget } from "../memory-budget.js";
import { FLAG_COMPRESSED } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import { FrameWriter } from "../wire/writer.js";
import { Channel, type FrameHandler } from "./channel.js";
import { SessionCompression } from "./compression.js";
import { expand } from "./expand.js";
import { pacedCompression } from "./paced-compression.js";
import type { DirectStream } from "./session.js";

const copying: Compression = { name: "deflate", compress: (bytes) => bytes, decompress: (bytes) => bytes.slice() };

/** A channel that decompresses what it receives, and how many messages it had at each pause and resumption. */
function receiving(): { channel: Channel; events: string[]; messages: () => number; budget: MemoryBudget } {
  const events: string[] = [];
  let messages = 0;
  const budget = new MemoryBudget(1_000_000, "test");
  const compression = new SessionCompression({ algorithms: [pacedCompression(copying)] }, 1000);
  const stream = {
    pause: () => void events.push(`paused at ${messages}`),
    resume: () => void events.push(`resumed at ${messages}`),
    reset() {},
    stopSending() {},
    pendingBytes: () => 0,
  } as unknown as DirectStream;
  const handler: Partial<FrameHandler> = {
    onFrame({ bytes, start, end }) {
      expand(compression, bytes, start, end);
      messages++;
    },
  };
  const channel = Channel.accept(stream, () => handler as FrameHandler, {
    limits: DEFAULT_LIMITS,
    budget,
    compression,
    prefix: new Uint8Array(0),
    traffic: { sentBytes: 0, extraCredit: 0 },
  });
  return { channel, events, messages: () => messages, budget };
}

function compressedFrames(count: number): Uint8Array {
  const out = new FrameWriter(64);
  for (let i = 0; i < count; i++) {
    out.frame(FrameType.Notify | FLAG_COMPRESSED, 0, () => {
      out.byte(1);
      out.byte(7);
    });
  }
  return out.written().slice();
}

it("leaves many compressed messages of a chunk for later turns of the event loop", async () => {
  const { channel, events, messages, budget } = receiving();
  const chunk = compressedFrames(1200);
  channel.onData(chunk);
  expect(messages()).toBe(500);
  expect(events).toEqual(["paused at 500"]);
  expect(budget.held).toBeGreaterThan(0);
  // The reader has a copy: the transport may use the memory again.
  chunk.fill(0);
  await vi.waitUntil(() => messages() === 1200);
  await vi.waitUntil(() => events.at(-1) === "resumed at 1200");
  expect(events).toEqual(["paused at 500", "resumed at 1200"]);
  expect(budget.held).toBe(0);
});

it("does not read the rest of a chunk after the stream was given up", async () => {
  const { channel, events, messages, budget } = receiving();
  // Whatever is left of this turn.
  channel.onData(compressedFrames(1200));
  const read = messages();
  channel.reset(0);
  expect(budget.held).toBe(0);
  await vi.waitUntil(() => events.length === 2);
  expect(messages()).toBe(read);
});
