import { expect, it } from "vitest";
import { Fifo } from "./fifo.js";

it("gives what was put into it in turn, whatever the order of puts and takes", () => {
  const queue = new Fifo<number>();
  const expected: number[] = [];
  let random = 1;
  for (let i = 0; i < 10_000; i++) {
    random = (random * 48_271) % 2_147_483_647;
    // More puts than takes at first, and the other way round later.
    if (random % 100 < (i < 5000 ? 60 : 40)) {
      queue.push(i);
      expected.push(i);
    } else {
      expect(queue.shift()).toBe(expected.shift());
    }
    expect([queue.length, queue.first]).toEqual([expected.length, expected[0]]);
  }
  queue.clear();
  expect([queue.length, queue.first, queue.shift()]).toEqual([0, undefined, undefined]);
});

it("a million entries are taken in time that does not grow with their number", () => {
  const queue = new Fifo<number>();
  for (let i = 0; i < 1_000_000; i++) queue.push(i);
  // Were each to move those behind it, this would take minutes.
  for (let i = 0; i < 1_000_000; i++) if (queue.shift() !== i) throw new Error(`${i} is not next`);
  expect(queue.length).toBe(0);
});
