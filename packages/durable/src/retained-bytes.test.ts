import fc from "fast-check";
import { expect, it } from "vitest";
import { RetainedBytes } from "./retained-bytes.js";

it("keeps what was written and not forgotten, by its position", () => {
  const step = fc.record({ write: fc.nat(9000), trim: fc.nat(9000), read: fc.nat(9000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const ring = new RetainedBytes();
      const all: number[] = [];
      for (const { write, trim, read } of steps) {
        const bytes = Uint8Array.from({ length: write }, (_, index) => (all.length + index) % 251);
        all.push(...bytes);
        ring.write(bytes);
        ring.trim(Math.min(ring.end, ring.first + trim));
        const got: number[] = [];
        const from = Math.min(ring.end, ring.first + read);
        while (from + got.length < ring.end) got.push(...ring.read(from + got.length, 4000));
        expect(got).toEqual(all.slice(from));
        expect(ring.heldBytes).toBeLessThanOrEqual(Math.max(1024, 4 * Math.max(ring.length, write)));
      }
      expect(ring.end).toBe(all.length);
    }),
    { numRuns: 60 },
  );
});
