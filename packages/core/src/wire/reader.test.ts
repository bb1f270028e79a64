import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProtocolError } from "../errors.js";
import { MemoryBudget } from "../memory-budget.js";
import type { Frame } from "./frame.js";
import { FrameReader } from "./reader.js";
import { FrameWriter } from "./writer.js";

const MAX = 100_000;
const budget = (): MemoryBudget => new MemoryBudget(1e9, "limits.maxSessionBytes");
type Seen = { type: number; callId: number; body: number[]; size: number };

const frames = fc.array(
  fc.record({
    type: fc.integer({ min: 0, max: 15 }),
    callId: fc.oneof(fc.nat(100), fc.nat(2 ** 20), fc.nat(2 ** 40)),
    body: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 16_380, maxLength: 16_400 })),
  }),
  { minLength: 1, maxLength: 5 },
);

function encode(list: { type: number; callId: number; body: Uint8Array }[]): Uint8Array {
  const out = new FrameWriter(16);
  for (const { type, callId, body } of list) {
    out.frame(type, callId, () => out.bytes(body));
  }
  return out.written().slice();
}

function collect(reader: FrameReader, chunks: Uint8Array[]): Seen[] {
  const seen: Seen[] = [];
  for (const chunk of chunks) {
    reader.push(chunk, 0, {
      onFrame({ type, callId, bytes, start, end, size }) {
        seen.push({ type, callId, body: [...bytes.subarray(start, end)], size });
      },
    });
  }
  return seen;
}

describe("FrameReader", () => {
  it("reads back what FrameWriter wrote, however it is cut", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(40_000), { maxLength: 8 }), (list, cuts) => {
        const bytes = encode(list);
        const at = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
        const seen = collect(new FrameReader(MAX, budget()), chunks);
        expect(seen.map(({ type, callId, body }) => ({ type, callId, body }))).toEqual(
          list.map(({ type, callId, body }) => ({ type, callId, body: [...body] })),
        );
        expect(seen.reduce((sum, { size }) => sum + size, 0)).toBe(bytes.length);
      }),
    );
  });

  it("does not keep the chunk that its last frame came in", () => {
    const reader = new FrameReader(MAX, budget());
    let last: Frame | undefined;
    const onFrame = (frame: Frame): void => void (last = frame);
    reader.push(encode([{ type: 3, callId: 1, body: new Uint8Array(9) }]), 0, { onFrame });
    expect(last?.bytes.length).toBe(0);
  });

  it("reads a frame cut in two at every byte", () => {
    const bytes = encode([
      { type: 3, callId: 70, body: new Uint8Array([1, 2, 3, 4]) },
      { type: 6, callId: 2 ** 33, body: new Uint8Array() },
    ]);
    const whole = collect(new FrameReader(MAX, budget()), [bytes]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = new FrameReader(MAX, budget());
      expect(collect(reader, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
      expect(reader.midFrame).toBe(false);
    }
    expect(
      collect(
        new FrameReader(MAX, budget()),
        [...bytes].map((byte) => new Uint8Array([byte])),
      ),
    ).toEqual(whole);
  });

  it("knows that it ends within a frame", () => {
    const reader = new FrameReader(MAX, budget());
    collect(reader, [new Uint8Array([0x40])]);
    expect(reader.midFrame).toBe(true);
  });

  it("C51 takes a frame of exactly maxFrameBytes · C52 of one that is larger, however it is cut, only whose it is", () => {
    const first = encode([{ type: 5, callId: 1, body: new Uint8Array(996) }]);
    expect(collect(new FrameReader(1000, budget()), [first])).toHaveLength(1);
    const whole = encode([
      { type: 5, callId: 2 ** 20, body: new Uint8Array(20_000) },
      { type: 6, callId: 3, body: Uint8Array.of(7) },
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const chunks = at.slice(1).map((end, i) => whole.subarray(at[i], end));
        const usage = budget();
        expect(collect(new FrameReader(1000, usage), chunks)).toEqual([
          { type: 5, callId: 2 ** 20, body: [], size: 20_009 },
          // The length of a frame after a long one is in four bytes too.
          { type: 6, callId: 3, body: [7], size: 7 },
        ]);
        expect(usage.held).toBe(0);
      }),
    );
  });

  it("holds what has begun to arrive within the budget of its session, and passes over what it has no room for", () => {
    const shared = new MemoryBudget(15_000, "limits.maxSessionBytes");
    const whole = encode([{ type: 5, callId: 9, body: new Uint8Array(9_994) }]);
    const half = whole.subarray(0, 6000);
    const next = encode([{ type: 6, callId: 3, body: Uint8Array.of(7) }]);
    const [first, second, third] = [
      new FrameReader(MAX, shared),
      new FrameReader(MAX, shared),
      new FrameReader(MAX, shared),
    ];
    collect(first, [half]);
    collect(second, [half]);
    expect(shared.held).toBe(12_000);
    expect(collect(third, [half])).toMatchObject([{ type: 5, callId: 9, size: whole.length, body: [] }]);
    expect(shared.held).toBe(12_000);
    expect(collect(third, [whole.subarray(6000), next])).toMatchObject([{ type: 6, callId: 3, body: [7] }]);
    // A small frame is its stream's, and never refused.
    const small = encode([{ type: 5, callId: 0, body: new Uint8Array(3000) }]);
    expect(collect(third, [small.subarray(0, 2000), small.subarray(2000)])).toHaveLength(1);
    for (const reader of [first, second, third]) reader.stop();
    expect(shared.held).toBe(0);
  });

  it("C55 refuses a declared length beyond any before the bytes arrive, and keeps none of one beyond its limit", () => {
    const beyond = new Uint8Array([0xc0, 0, 0, 0, 0x80, 0, 0, 0]);
    expect(() => collect(new FrameReader(MAX, budget()), [beyond])).toThrow(ProtocolError);
    const usage = budget();
    const reader = new FrameReader(MAX, usage);
    collect(reader, [new Uint8Array([0x9f, 0xff, 0xff, 0xff, 5, 0]), new Uint8Array(MAX)]);
    expect(usage.held).toBe(0);
    expect(reader.midFrame).toBe(true);
  });

  it("never throws anything but ProtocolError on garbage", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 6 }), (chunks) => {
        try {
          collect(new FrameReader(256, budget()), chunks);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });

  it("stops in the middle of a chunk when told to", () => {
    const bytes = encode([1, 2, 3].map((type) => ({ type, callId: 0, body: new Uint8Array() })));
    const reader = new FrameReader(MAX, budget());
    const seen: number[] = [];
    reader.push(bytes, 0, {
      onFrame({ type }) {
        seen.push(type);
        if (type === 2) reader.stop();
      },
    });
    expect(seen).toEqual([1, 2]);
  });
});
