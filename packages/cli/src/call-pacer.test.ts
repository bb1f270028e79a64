import { expect, it } from "vitest";
import { CallPacer } from "./call-pacer.js";

it("gives turns at even times, and those who are late the time that was meant", async () => {
  let now = 1000;
  const pace = new CallPacer(100, () => now++);
  const turns = [await pace.next(), await pace.next(), await pace.next()];
  expect(turns).toEqual([1000, 1010, 1020]);
  now += 500;
  expect([await pace.next(), await pace.next()]).toEqual([1030, 1040]);
});

it("has nobody wait once it is over", async () => {
  const pace = new CallPacer(1 / 3600);
  await pace.next();
  const turn = pace.next();
  pace.end();
  await turn;
});
