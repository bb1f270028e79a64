import { expect, it, vi } from "vitest";
import { OrderedNumbers } from "./memory-log.js";

it("finds the oldest number by one walk, whatever was deleted before and after it", () => {
  const numbers = new OrderedNumbers<true>();
  const keys = vi.spyOn(numbers.all, "keys");
  for (let n = 0; n < 1000; n++) numbers.all.set(n, true);
  for (let n = 0; n < 1000; n++) {
    numbers.all.set(1000 + n, true);
    // One in the middle, as of a topic that has as many as it may.
    if (n % 3 === 0) numbers.all.delete(n + 1);
    const { oldest = -1 } = numbers;
    expect(oldest).toBe(n % 3 === 1 ? n + 1 : n);
    if (n % 3 !== 1) numbers.all.delete(n);
  }
  expect(keys).toHaveBeenCalledTimes(1);
});

it("has none when it is empty, and goes on with what comes then", () => {
  const numbers = new OrderedNumbers<string>();
  expect(numbers.oldest).toBeUndefined();
  for (const number of [1, 5, 9]) {
    numbers.all.set(number, "");
    expect(numbers.oldest).toBe(number);
    numbers.all.delete(number);
    if (number !== 5) expect(numbers.oldest).toBeUndefined();
  }
});
