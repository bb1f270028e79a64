import { expect, test } from "vitest";
import { waterfall } from "./call-trace.js";

test("bars have a place and a length, and fit", () => {
  const drawn = waterfall(
    [
      { name: "a", from: 0, ms: 50 },
      { name: "bcd", from: 50, ms: 0.001 },
      { name: "e", from: 100, ms: 100 },
      { name: "f", from: 0, ms: undefined },
    ],
    100,
  );
  expect(drawn).toEqual([
    `  a      ${"█".repeat(20).padEnd(40)}     50.000 ms`,
    `  bcd    ${`${" ".repeat(20)}█`.padEnd(40)}      0.001 ms`,
    `  e      ${" ".repeat(39)}█    100.000 ms`,
    `  f      ${" ".repeat(40)}  unknown`,
    `  total  ${" ".repeat(40)}    100.000 ms`,
  ]);
});
