import { expect, it } from "vitest";
import { batchBars, callBars, endOf } from "./bars.js";

it("a step of a batch has its place, what it needs and its result", () => {
  const step = { method: "a.v1.B/get", needs: [], elements: undefined };
  const bars = batchBars([
    { ...step, fromMs: 0, ms: 25, result: "ok" },
    { ...step, needs: [0], elements: 20, fromMs: 25, ms: 75, result: "2 of 20 failed, not_found: no b" },
    { ...step, needs: [0, 1], fromMs: undefined, ms: undefined, result: undefined },
  ]);
  expect(bars).toEqual([
    { label: "0 a.v1.B/get", kind: "server", fromMs: 0, ms: 25, result: "ok" },
    {
      label: "1 a.v1.B/get × 20, after 0",
      kind: "server",
      fromMs: 25,
      ms: 75,
      result: "2 of 20 failed, not_found: no b",
    },
    { label: "2 a.v1.B/get, after 0, 1", kind: "server", fromMs: 0, ms: undefined, result: undefined },
  ]);
  expect(endOf(bars)).toBe(100);
  expect(endOf(bars.slice(2))).toBeUndefined();
});

it("a part of a call has its place", () => {
  const [wait, upload] = callBars(
    { waitMs: 1, uploadMs: 2, uploadBytes: 9, uploadedFirst: true },
    undefined,
    undefined,
  );
  expect(wait).toEqual({ label: "Waiting for a session", kind: "wait", fromMs: 0, ms: 1 });
  expect(upload).toEqual({ label: "Files, 9 bytes", kind: "wire", fromMs: 1, ms: 2 });
});
