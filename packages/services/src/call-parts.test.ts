import { expect, test } from "vitest";
import { callParts } from "./call-parts.js";

const timings = { waitMs: 10, encodeMs: 2, answerMs: 50, decodeMs: 8, itemsMs: 30, totalMs: 100 };

test("the parts of a call follow one another", () => {
  expect(callParts(timings, undefined, undefined)).toEqual([
    { name: "wait", fromMs: 0, ms: 10 },
    { name: "encode", fromMs: 10, ms: 2 },
    { name: "wireThere", fromMs: 12, ms: undefined },
    { name: "wireAndServer", fromMs: 12, ms: 50 },
    { name: "wireBack", fromMs: 62, ms: undefined },
    { name: "decode", fromMs: 62, ms: 8 },
    { name: "items", fromMs: 70, ms: 30 },
  ]);
  expect(callParts(timings, 20, undefined).slice(2, 5)).toEqual([
    { name: "wireThere", fromMs: 12, ms: 10 },
    { name: "server", fromMs: 22, ms: 30 },
    { name: "wireBack", fromMs: 52, ms: 10 },
  ]);
});

test("of the answer, what the server has measured has its place, and the rest lies between", () => {
  const served = { decodeMs: 1, queueMs: 2, handlerMs: 25 };
  expect(callParts(timings, 20, served).slice(2, 8)).toEqual([
    { name: "between", fromMs: 12, ms: 2 },
    { name: "wireThere", fromMs: 14, ms: 10 },
    { name: "validation", fromMs: 24, ms: 1 },
    { name: "turn", fromMs: 25, ms: 2 },
    { name: "handler", fromMs: 27, ms: 25 },
    { name: "wireBack", fromMs: 52, ms: 10 },
  ]);
});

test("a round trip that was measured before takes no more than there is room for", () => {
  expect(callParts(timings, 70, undefined)[2]).toEqual({ name: "wireThere", fromMs: 12, ms: 25 });
});

test("blobs are sent before the request, or while the answer is waited for", () => {
  const sent = { ...timings, uploadMs: 40, uploadBytes: 7 };
  expect(callParts({ ...sent, uploadedFirst: true }, undefined, undefined).slice(1, 3)).toEqual([
    { name: "upload", fromMs: 10, ms: 40 },
    { name: "encode", fromMs: 50, ms: 2 },
  ]);
  expect(callParts({ ...sent, uploadedFirst: false }, undefined, undefined).slice(1, 3)).toEqual([
    { name: "encode", fromMs: 10, ms: 2 },
    { name: "upload", fromMs: 12, ms: 40 },
  ]);
});

test("what a call did not come to has no length", () => {
  expect(callParts({ waitMs: 3, totalMs: 3 }, 20, undefined).map(({ ms }) => ms)).toEqual([
    3,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
