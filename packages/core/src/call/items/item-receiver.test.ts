import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { MessageCodec } from "../../contract/codec.js";
import { completeLimits } from "../../limits.js";
import { MemoryBudget } from "../../memory-budget.js";
import { pack } from "../../msgpack/pack.js";
import type { Frame } from "../../wire/frame.js";
import * as FrameType from "../../wire/frame-type.js";
import { bytesCodec, uncheckedCodec } from "../messages/codec.js";
import type { ReceiveFlow } from "./item-receiver.js";
import { ItemReceiver } from "./item-receiver.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** Returns the size of the heap in bytes after garbage collection. */
function heap(): number {
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const COUNT = 30_000;
const unlimited: ReceiveFlow = { received() {}, consumed() {}, end() {} };

/**
 * Receives the same item many times without reading it. Returns the heap memory that each item takes and the bytes that
 * the budget charges for it.
 */
function unread(
  codec: MessageCodec<unknown>,
  payload: Uint8Array,
): { readonly taken: number; readonly counted: number } {
  const budget = new MemoryBudget(2 ** 30, "a test");
  const receiver = new ItemReceiver(() => {});
  const carrier = { channel: { compression: undefined, budget }, receiveFlow: () => unlimited };
  receiver.carriedBy(carrier, 0, codec, completeLimits());
  const { length } = payload;
  const place = { bytes: payload, start: 0, end: length, size: length };
  const frame: Frame = { type: FrameType.Item, flags: 0, callId: 0, oversized: false, ...place };
  const before = heap();
  for (let i = 0; i < COUNT; i++) receiver.receive(frame);
  const taken = (heap() - before) / COUNT;
  const counted = budget.held / COUNT;
  receiver.end(undefined);
  return { taken, counted };
}

describe("items that nobody reads", () => {
  it.each([
    ["a byte", bytesCodec, new Uint8Array(1)],
    ["a number", uncheckedCodec<unknown>(), pack(1)],
    ["bytes in an array", uncheckedCodec<unknown>(), pack(Array.from({ length: 10 }, () => new Uint8Array(1)))],
    ["dates in an array", uncheckedCodec<unknown>(), pack(Array.from({ length: 10 }, () => new Date(1e12)))],
  ] as [string, MessageCodec<unknown>, Uint8Array][])("count what they take: %s", (_, codec, payload) => {
    const { taken, counted } = unread(codec, payload);
    expect(taken).toBeLessThan(counted * 1.5);
  });
});
