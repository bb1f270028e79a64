import { expect, test } from "vitest";
import { barsOf, waterfall } from "./call-trace.js";

const timings = {
  waitMs: 10,
  uploadMs: undefined,
  uploadBytes: undefined,
  encodeMs: 2,
  answerMs: 50,
  decodeMs: 8,
  itemsMs: 30,
  totalMs: 100,
};

test("the parts of a call follow one another", () => {
  expect(barsOf(timings, undefined, undefined)).toEqual([
    { name: "waiting for its turn", from: 0, ms: 10 },
    { name: "encoding", from: 10, ms: 2 },
    { name: "wire, both ways", from: 12, ms: undefined },
    { name: "wire and server", from: 12, ms: 50 },
    { name: "decoding", from: 62, ms: 8 },
    { name: "items", from: 70, ms: 30 },
  ]);
  const served = { decodeMs: 1, queueMs: 2, handlerMs: 25 };
  expect(barsOf(timings, 20, served).slice(2, 6)).toEqual([
    { name: "wire, both ways", from: 12, ms: 20 },
    { name: "server: validation", from: 22, ms: 1 },
    { name: "server: its turn", from: 23, ms: 2 },
    { name: "server: handler", from: 25, ms: 25 },
  ]);
  // A round trip that was measured before may be longer than all that the call took.
  expect(barsOf(timings, 70, undefined)[2]?.ms).toBe(50);
});

test("blobs are sent before the request, or while the answer is waited for", () => {
  const sent = { ...timings, uploadMs: 40, uploadBytes: 7 };
  expect(barsOf({ ...sent, totalMs: 140 }, undefined, undefined).slice(1, 3)).toEqual([
    { name: "7 bytes of blobs", from: 10, ms: 40 },
    { name: "encoding", from: 50, ms: 2 },
  ]);
  expect(barsOf(sent, undefined, undefined).slice(1, 3)).toEqual([
    { name: "7 bytes of blobs", from: 12, ms: 40 },
    { name: "encoding", from: 10, ms: 2 },
  ]);
});

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
