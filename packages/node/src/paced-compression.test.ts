import { expect, it, vi } from "vitest";
import { DEFAULT_LIMITS } from "@quicrpc/core";
import {
  Channel,
  type ChannelSettings,
  type Compression,
  FLAG_COMPRESSED,
  FrameType,
  FrameWriter,
  MemoryBudget,
  ownTurn,
  SessionCompression,
  StreamKind,
} from "@quicrpc/core/internal";
import type { DirectStream } from "@quicrpc/core/transport";
import type { FrameHandler } from "../../core/src/transport/channel.js";
import { pacedCompression } from "./paced-compression.js";

const copying: Compression = { name: "deflate", compress: (bytes) => bytes, decompress: (bytes) => bytes.slice() };

/** A stream that the peer opened, or this side, whose channel decompresses what it receives, and how many messages it had at each pause and resumption. */
function receiving(
  opened: "by the peer" | "by this side" = "by the peer",
  compression = new SessionCompression({ algorithms: [pacedCompression(copying)] }, 1000),
): { channel: Channel; events: string[]; messages: () => number; budget: MemoryBudget } {
  const events: string[] = [];
  let messages = 0;
  const budget = new MemoryBudget(1_000_000, "test");
  const stream = {
    pause: () => void events.push(`paused at ${messages}`),
    resume: () => void events.push(`resumed at ${messages}`),
    attach() {},
    reset() {},
    stopSending() {},
    pendingBytes: () => 0,
  } as unknown as DirectStream;
  const handler: Partial<FrameHandler> = {
    onFrame({ bytes, start, end }) {
      compression.expand(bytes, start, end);
      messages++;
    },
  };
  const settings: ChannelSettings = {
    limits: DEFAULT_LIMITS,
    budget,
    compression,
    prefix: new Uint8Array(0),
    traffic: { extraCredit: 0 },
  };
  const channel =
    opened === "by this side"
      ? Channel.open(stream, StreamKind.Lane, handler as FrameHandler, settings)
      : Channel.accept(stream, () => handler as FrameHandler, settings);
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

it("reads all answers at once, because none may be left when the session ends", () => {
  const { channel, events, messages } = receiving("by this side");
  channel.onData(compressedFrames(1200));
  expect(messages()).toBe(1200);
  expect(events).toEqual([]);
});

it("gives sessions their turns one after the other, however many streams each has", async () => {
  const attacker = new SessionCompression({ algorithms: [pacedCompression(copying)] }, 1000);
  const attacked = Array.from({ length: 20 }, () => receiving("by the peer", attacker));
  const honest = receiving();
  const chunk = compressedFrames(1200);
  for (const { channel } of attacked) channel.onData(chunk);
  honest.channel.onData(compressedFrames(3));
  while (honest.messages() < 3) await ownTurn();
  // Each of the other streams had a message before its reader knew that this turn is used up.
  const others = attacked.reduce((sum, { messages }) => sum + messages(), 0);
  expect(others).toBeLessThan(3 * 500);
  for (const { channel } of attacked) channel.reset(0);
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
