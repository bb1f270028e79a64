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
