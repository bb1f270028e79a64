import fc from "fast-check";
import { expect, it } from "vitest";
import { ByteQueue } from "./byte-queue.js";

it("gives back what was pushed, in order, whenever it is asked", () => {
  const chunks = fc.array(fc.option(fc.uint8Array({ maxLength: 40_000, size: "max" }), { freq: 3 }), { maxLength: 20 });
  fc.assert(
    fc.property(chunks, (script) => {
      const held = new ByteQueue();
      const expected: number[] = [];
      const taken: number[] = [];
      // null takes one piece.
      for (const chunk of script) {
        if (chunk === null) taken.push(...(held.shift() ?? []));
        else {
          held.push(chunk);
          expected.push(...chunk);
        }
        expect(held.bytes).toBe(expected.length - taken.length);
      }
      for (let piece = held.shift(); piece !== undefined; piece = held.shift()) taken.push(...piece);
      expect(taken).toEqual(expected);
      expect(held.bytes).toBe(0);
    }),
    { numRuns: 10 },
  );
});

it("chunks of one byte take little more than their bytes", () => {
  const held = new ByteQueue();
  const packet = new Uint8Array(1200);
  for (let i = 0; i < 1_000_000; i++) held.push(packet.subarray(i % 1200, (i % 1200) + 1));
  const pieces: Uint8Array[] = [];
  for (let piece = held.shift(); piece !== undefined; piece = held.shift()) pieces.push(piece);
  expect(pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBeLessThan(1_000_000 + 16 * 1024);
  expect(pieces.length).toBeLessThan(100);
});
