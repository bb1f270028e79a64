import { expect, test } from "vitest";
import { stepsText, waterfall } from "./call-trace.js";

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

const step = { method: "a.v1.B/get", needs: [], elements: undefined };

test("steps of a batch have their place, what they need and their results", () => {
  const steps = [
    { ...step, fromMs: 0, ms: 50, result: "ok" },
    { ...step, needs: [0], elements: 20, fromMs: 50, ms: 50, result: "2 of 20 failed, not_found: no \u001b[2J b" },
    { ...step, needs: [0, 1], fromMs: undefined, ms: undefined, result: "failed_precondition: did not run" },
  ];
  expect(stepsText(steps)).toEqual([
    `  0 a.v1.B/get               ${"█".repeat(20).padEnd(40)}     50.000 ms  ok`,
    `  1 a.v1.B/get × 20 after 0  ${"█".repeat(20).padStart(40)}     50.000 ms  2 of 20 failed, not_found: no \\u{1b}[2J b`,
    `  2 a.v1.B/get after 0, 1    ${" ".repeat(40)}  unknown       failed_precondition: did not run`,
    `  total                      ${" ".repeat(40)}    100.000 ms`,
  ]);
});

test("steps without times are still listed", () => {
  const steps = [{ ...step, fromMs: undefined, ms: undefined, result: "ok" }];
  expect(stepsText(steps)).toEqual([
    `  0 a.v1.B/get  ${" ".repeat(40)}  unknown       ok`,
    `  total         ${" ".repeat(40)}  unknown`,
  ]);
});
