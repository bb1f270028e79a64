import { expect, it } from "vitest";
import { giveBuffer, takeBuffer, takeSpareBuffer } from "./buffers.js";

const MIB = 1024 * 1024;

it("buffers that nobody uses are held for others, within 12 MiB of all sizes", () => {
  const given = [2 * MIB, MIB, MIB / 2].flatMap((bytes) => Array.from({ length: 8 }, () => takeBuffer(bytes)));
  for (const buffer of given) giveBuffer(buffer);
  const spares = [2 * MIB, MIB, MIB / 2].flatMap((bytes) =>
    Array.from({ length: 9 }, () => takeSpareBuffer(bytes)).filter((buffer) => buffer !== undefined),
  );
  expect(spares.reduce((sum, { length }) => sum + length, 0)).toBe(12 * MIB);
  // What was taken makes room again.
  for (const spare of spares.slice(0, 1)) {
    giveBuffer(spare);
    expect(takeSpareBuffer(spare.length)).toBe(spare);
  }
});

it("a buffer has at most a quarter more than is asked for, and serves again what is as large", () => {
  for (let bytes = 4 * 1024; bytes <= 2 * MIB; bytes += 997) {
    const buffer = takeBuffer(bytes);
    expect(buffer.length).toBeGreaterThanOrEqual(bytes);
    expect(buffer.length).toBeLessThanOrEqual(bytes * 1.25);
    giveBuffer(buffer);
    expect(takeSpareBuffer(bytes)).toBe(buffer);
  }
});

it("a spare serves less than its size, but no less than half", () => {
  while (takeSpareBuffer(MIB) !== undefined);
  const buffer = takeBuffer(MIB);
  giveBuffer(buffer);
  expect(takeSpareBuffer(MIB / 2)).toBeUndefined();
  expect(takeSpareBuffer(MIB + 1)).toBeUndefined();
  expect(takeSpareBuffer(MIB / 2 + 1)).toBe(buffer);
});

it("as many messages of 1 MiB with their heads as calls are held for", () => {
  const given = Array.from({ length: 8 }, () => takeBuffer(MIB + 16));
  for (const buffer of given) giveBuffer(buffer);
  expect(new Set(Array.from({ length: 8 }, () => takeSpareBuffer(MIB + 16)))).toEqual(new Set(given));
});

it("what is too large to be held, or of another size, is not", () => {
  for (const length of [2 * MIB + 1, MIB + 1, 100]) {
    giveBuffer(new Uint8Array(length));
    expect(takeSpareBuffer(Math.max(length, 4096))?.length).not.toBe(length);
  }
  expect(takeBuffer(100).length).toBeLessThan(128);
  expect(takeBuffer(3 * MIB).length).toBe(3 * MIB);
});
