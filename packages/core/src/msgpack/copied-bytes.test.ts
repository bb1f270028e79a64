import { afterEach, expect, it } from "vitest";
import { afterCopied } from "./copied-bytes.js";
import { pack } from "./pack.js";
import { unpack } from "./unpack.js";

afterEach(() => afterCopied(Number.POSITIVE_INFINITY, () => Number.POSITIVE_INFINITY));

it("bytes that are copied out of payloads are counted, and nothing else", () => {
  const calls: number[] = [];
  let read = 0;
  afterCopied(1000, () => {
    calls.push(read);
    return 500;
  });
  const payload = pack({ text: "x".repeat(5000), bytes: new Uint8Array(100), list: [1, 2, 3] });
  for (; read < 20; read++) unpack(payload, 0, payload.length);
  // Past 1,000 bytes, then past 500 more each time.
  expect(calls).toEqual([10, 16]);
});
