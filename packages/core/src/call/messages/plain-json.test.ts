import { expect, test } from "vitest";
import { jsonOf } from "./plain-json.js";

test.each([
  [Uint8Array.of(1, 2, 255), "AQL/"],
  [Float64Array.of(1), "AAAAAAAA8D8="],
  [Int16Array.of(7, 1, -2).subarray(1), "AQD+/w=="],
  [BigInt64Array.of(-1n), "//////////8="],
])("%#: bytes and typed arrays are base64 of their bytes, little-endian", (value, text) => {
  expect(jsonOf({ a: [value] })).toEqual({ a: [text] });
});
