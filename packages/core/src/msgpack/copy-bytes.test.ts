import { expect, it } from "vitest";
import { bytesCodec } from "../call/messages/codec.js";
import { watchCopies } from "./read-scalars.js";
import { pack, unpack } from "./pack.js";

it("bytes that are copied out of payloads are told, and nothing else", () => {
  const copied: number[] = [];
  watchCopies((bytes) => copied.push(bytes));
  const payload = pack({ text: "x".repeat(5000), bytes: new Uint8Array(100), list: [1, new Uint8Array([7]), 3] });
  expect(unpack(payload, 0, payload.length)).toMatchObject({ list: [1, new Uint8Array([7]), 3] });
  expect(copied).toEqual([100, 1]);
});

it("so are raw bytes, which have a memory of their own", () => {
  const copied: number[] = [];
  watchCopies((bytes) => copied.push(bytes));
  const payload = Buffer.from([9, 1, 2, 3, 9]);
  const bytes = bytesCodec.decode(payload, 1, 4);
  payload.fill(0);
  expect(bytes).toEqual(new Uint8Array([1, 2, 3]));
  expect(bytes.buffer.byteLength).toBe(3);
  expect(copied).toEqual([3]);
});
