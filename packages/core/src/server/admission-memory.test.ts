import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../memory-budget.js";
import { makeRoomToDecode, requireRoom } from "./admission.js";
import { ServerLoad } from "./server-load.js";

/** Creates the memory budgets of two sessions of one server, and a list of the sessions that the server has closed. */
function fixture(
  maxSessionBytes: number,
  releases = true,
): { large: MemoryBudget; small: MemoryBudget; closed: string[] } {
  const load = new ServerLoad({ maxSessionBytes: 100_000, maxServerBytes: 300_000 });
  const large = new MemoryBudget(1_000_000, "large", load);
  const small = new MemoryBudget(maxSessionBytes, "small", load);
  const closed: string[] = [];
  for (const budget of [large, small]) {
    const onEvicted = (): void => {
      closed.push(budget.setting);
      if (releases) budget.release(budget.held);
    };
    load.add({ budget, onEvicted });
  }
  return { large, small, closed };
}

describe("before a message is decoded", () => {
  it("a session that holds more is closed if the server has no room", () => {
    const { large, small, closed } = fixture(1_000_000);
    large.charge(299_990);
    makeRoomToDecode(small, 100);
    expect(closed).toEqual(["large"]);
    expect(small.room).toBeGreaterThan(100 * 32);
  });

  it("the session's own limit is left to the decoder, because closing others does not help", () => {
    const { large, small, closed } = fixture(65_536);
    small.charge(3000);
    makeRoomToDecode(small, 3000);
    expect(closed).toEqual([]);
    // The server has exactly enough room for the most that the small session may use.
    large.charge(300_000 - 65_536);
    makeRoomToDecode(small, 3000);
    expect(closed).toEqual([]);
    large.charge(1);
    makeRoomToDecode(small, 3000);
    expect(closed).toEqual(["large"]);
  });

  it("there is room for it although the session that was closed has not released its memory yet", () => {
    const { large, small, closed } = fixture(1_000_000, false);
    large.charge(299_990);
    makeRoomToDecode(small, 100);
    expect([closed, large.held]).toEqual([["large"], 299_990]);
    expect(small.room).toBe(300_000);
    expect(small.charge(3200)).toBe(true);
    expect(small.room).toBe(300_000 - 3200);
  });

  it("a message that may fit is left to the decoder if no session holds more", () => {
    const { small, closed } = fixture(1_000_000);
    small.charge(260_000);
    makeRoomToDecode(small, 2000);
    expect([closed, small.held, small.room]).toEqual([[], 260_000, 40_000]);
  });

  it("a session beyond its own limit closes no other", () => {
    const { large, small, closed } = fixture(3000);
    large.charge(299_990);
    small.charge(4000);
    closed.length = 0;
    makeRoomToDecode(small, 3000);
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
