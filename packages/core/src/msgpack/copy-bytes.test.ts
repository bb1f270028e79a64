import { expect, it } from "vitest";
import { watchCopies } from "./copy-bytes.js";
import { pack } from "./pack.js";
import { unpack } from "./unpack.js";

it("bytes that are copied out of payloads are told, and nothing else", () => {
  const copied: number[] = [];
  watchCopies((bytes) => copied.push(bytes));
  const payload = pack({ text: "x".repeat(5000), bytes: new Uint8Array(100), list: [1, new Uint8Array([7]), 3] });
  expect(unpack(payload, 0, payload.length)).toMatchObject({ list: [1, new Uint8Array([7]), 3] });
  expect(copied).toEqual([100, 1]);
});
