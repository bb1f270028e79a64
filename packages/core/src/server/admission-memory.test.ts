import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../memory-budget.js";
import { requireRoom, requireRoomToDecode } from "./admission.js";
import { ServerLoad } from "./server-load.js";

/** Budgets of two sessions of one server, and the names of the sessions that were closed. */
function fixture(maxSessionBytes: number): { large: MemoryBudget; small: MemoryBudget; closed: string[] } {
  const load = new ServerLoad({ maxSessionBytes: 100_000, maxServerBytes: 300_000 });
  const large = new MemoryBudget(1_000_000, "large", load);
  const small = new MemoryBudget(maxSessionBytes, "small", load);
  const closed: string[] = [];
  for (const budget of [large, small]) {
    const onEvicted = (): void => {
      closed.push(budget.setting);
      budget.release(budget.held);
    };
    load.add({ budget, onEvicted });
  }
  return { large, small, closed };
}

describe("before a message is decoded", () => {
  it("a session that holds more is closed if the server has no room", () => {
    const { large, small, closed } = fixture(1_000_000);
    large.charge(299_990);
    requireRoomToDecode(small, 100);
    expect(closed).toEqual(["large"]);
    expect(small.room).toBeGreaterThan(100 * 32);
  });

  it("the session's own limit is left to the decoder, because closing others does not help", () => {
    const { large, small, closed } = fixture(65_536);
    small.charge(3000);
    requireRoomToDecode(small, 3000);
    expect(closed).toEqual([]);
    // The server has room for all that the session may hold, and not for more.
    large.charge(300_000 - 65_536);
    requireRoomToDecode(small, 3000);
    expect(closed).toEqual([]);
    large.charge(1);
    requireRoomToDecode(small, 3000);
    expect(closed).toEqual(["large"]);
  });

  it("a session beyond its own limit closes no other", () => {
    const { large, small, closed } = fixture(3000);
    large.charge(299_990);
    small.charge(4000);
    closed.length = 0;
    requireRoomToDecode(small, 3000);
    expect(closed).toEqual([]);
  });
});

it("the error states what is held without the bytes that were refused", () => {
  const { large, small } = fixture(1000);
  small.charge(400);
  expect(() => requireRoom(small, 601, "x")).toThrow("small is 1000, and 400 are held");
  large.charge(299_000);
  expect(() => requireRoom(large, 601, "x")).toThrow("limits.maxServerBytes is 300000, and 299400 are held");
});
