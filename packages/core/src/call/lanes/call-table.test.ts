import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallTable } from "./lane.js";

describe("CallTable", () => {
  it("behaves as a map with the lowest cost of indexes", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant("add" as const), fc.nat(20))), (steps) => {
        const table = new CallTable<number>(1000);
        const model = new Map<number, number>();
        let next = 0;
        let most = 0;
        for (const step of steps) {
          if (step === "add") {
            const index = table.add(next);
            expect(model.has(index)).toBe(false);
            model.set(index, next++);
            most = Math.max(most, model.size);
            expect(index).toBeLessThan(most);
          } else if (model.delete(step)) {
            table.release(step);
          }
          expect(table.size).toBe(model.size);
          for (let index = 0; index < 21; index++) expect(table.get(index)).toBe(model.get(index));
        }
        expect(table.drain().sort((a, b) => a - b)).toEqual([...model.values()].sort((a, b) => a - b));
        expect(table.size).toBe(0);
      }),
    );
  });

  it("is full at its capacity", () => {
    const table = new CallTable<string>(2);
    expect([table.add("a"), table.add("b"), table.add("c")]).toEqual([0, 1, -1]);
    table.release(0);
    expect(table.add("d")).toBe(0);
  });
});
