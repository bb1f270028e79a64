import { expect, it } from "vitest";
import { MemoryBudget } from "../memory-budget.js";
import { requireRoomToDecode } from "./require-room.js";
import { ServerLoad } from "./server-load.js";

it("closes a session that holds more before a small message without room is decoded", () => {
  const load = new ServerLoad({ maxSessionBytes: 100_000, maxServerBytes: 300_000 });
  const budgets = ["large", "small"].map((setting) => new MemoryBudget(1_000_000, setting, load));
  const [large, small] = budgets as [MemoryBudget, MemoryBudget];
  const closed: string[] = [];
  for (const budget of budgets) {
    const onEvicted = (): void => {
      closed.push(budget.setting);
      budget.release(budget.held);
    };
    load.add({ budget, onEvicted });
  }
  large.charge(299_990);
  requireRoomToDecode(small, 100);
  expect(closed).toEqual(["large"]);
  expect(small.room).toBeGreaterThan(100 * 32);
});
