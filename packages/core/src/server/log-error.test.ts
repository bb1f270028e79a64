import { expect, it } from "vitest";
import { RpcError } from "../errors.js";
import { boundedLog, describeFailure, sanitizeForLog } from "./log-error.js";

it("a line holds nothing that a terminal acts on, or that looks like another line", () => {
  const nasty = "a\u001b[2J\u001b]0;owned\u0007\r\nquicrpc: forged\u2028b\u202ec\u009bd\ud800e🙂é";
  expect(sanitizeForLog(nasty)).toBe(
    "a\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{d}\\u{a}quicrpc: forged\\u{2028}b\\u{202e}c\\u{9b}d\\u{d800}e🙂é",
  );
  const error = new RpcError("invalid_argument", nasty, { cause: new Error(nasty) });
  Object.assign(error, { name: nasty });
  const lines = describeFailure(error, { method: nasty, peer: nasty }).split("\n");
  expect(lines[0]).toMatch(/^quicrpc: a.* for a.*failed: a.*forged/);
  expect(lines.slice(1).every((line) => /^\s+(at |caused by )/.test(line))).toBe(true);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  expect(lines.join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
});

it("names the place and the causes of a failure", () => {
  const text = describeFailure(new Error("outer", { cause: new TypeError("inner") }), { method: "a.v1.B/c" });
  expect(text).toMatch(
    /^quicrpc: a\.v1\.B\/c failed: Error: outer\n\s+at .*log-error\.test[\s\S]*caused by TypeError: inner\n\s+at /,
  );
});

it("has whole lines of a stack, however long they are", () => {
  const error = Object.assign(new Error("text"), { stack: `Error: text${`\n    at ${"f".repeat(150)}`.repeat(11)}` });
  for (const cause of [1, 2, 3])
    Object.assign(error, { cause: Object.assign(new Error(`${cause}`), { cause: error.cause, stack: error.stack }) });
  const lines = describeFailure(error, { method: "a" }).split("\n");
  expect(lines.slice(1).every((line) => /^\s+(at f{150}$|caused by )/.test(line))).toBe(true);
  expect(lines.length).toBeGreaterThan(8);
});

it("is bounded, whatever is thrown", () => {
  const large = "\u0000".repeat(1_000_000);
  const endless = new Error(large);
  endless.cause = endless;
  for (const error of [large, endless, { toString: () => large }, null, undefined]) {
    expect(describeFailure(error, { method: large, peer: large }).length).toBeLessThan(3000);
  }
  const hostile = {
    toString() {
      throw new Error("no");
    },
  };
  expect(describeFailure(hostile, { method: "a" })).toBe("quicrpc: a failed: something that cannot be shown");
});

it("a flood of failures is a few lines, which say how many there were", () => {
  let now = 0;
  const lines: string[] = [];
  const log = boundedLog(
    (text) => lines.push(text),
    () => now,
  );
  for (let i = 0; i < 10_000; i++) log(`error ${i}`, { method: "a/b" });
  expect(lines).toHaveLength(20);
  now += 1000;
  log("later", { method: "a/b" });
  expect(lines.slice(20)).toEqual([
    "quicrpc: 9980 more failures were not logged: give `onError` to have them all",
    "quicrpc: a/b failed: later",
  ]);
  now += 60_000;
  for (let i = 0; i < 100; i++) log(i, { method: "a/b" });
  expect(lines).toHaveLength(42);
});
