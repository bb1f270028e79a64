import { expect, it, vi } from "vitest";
import { CallPlaces } from "./call-places.js";

it.each([
  ["at once", 2, 0],
  ["in the next turn, when `fetch` can use its connection again", undefined, 1],
])("a waiting call starts %s after another has ended, if the peer takes %s calls", async (_, most, turns) => {
  vi.useFakeTimers();
  const state = { calls: 0 };
  const places = new CallPlaces({ callsMade: () => state.calls }, most);
  while (places.take()) state.calls++;
  const resume = vi.fn<() => void>();
  places.whenFree(resume);
  state.calls--;
  places.onCallOver();
  await Promise.resolve();
  expect(resume).toHaveBeenCalledTimes(1 - turns);
  await vi.advanceTimersByTimeAsync(turns);
  expect(resume).toHaveBeenCalledTimes(1);
  expect(places.take()).toBe(true);
  vi.useRealTimers();
});
