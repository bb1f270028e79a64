import { createHash } from "node:crypto";
import type { StoredUpload } from "@quicrpc/blobs";
import { afterEach, expect, it } from "vitest";
import { RpcError } from "@quicrpc/core";
import { turnsDuring } from "../../../../core/test/turns.js";
import { Upload } from "./upload.js";

const MIB = 1024 * 1024;
const bytes = new Uint8Array(8 * MIB).map((_, at) => (at * 31) % 251);
const sha256 = (end: number): string => createHash("sha256").update(bytes.subarray(0, end)).digest("hex");

let upload: Upload | undefined;
afterEach(() => upload?.gone(new RpcError("not_found", "the test is over")));

/** An upload whose store has `pieces`, and counts how often they are read. */
function uploadOf(pieces: Uint8Array[]): { upload: Upload; reads: () => number } {
  let reads = 0;
  const stored: StoredUpload = {
    info: { field: "", principal: "", type: "", name: "", isComplete: false },
    size: async () => pieces.reduce((size, { length }) => size + length, 0),
    write: async (piece) => void pieces.push(piece),
    sync: async () => {},
    note: async () => {},
    async *read() {
      reads++;
      yield* pieces;
    },
    remove: async () => {},
  };
  upload = new Upload("", stored, 3_600_000, () => {});
  return { upload, reads: () => reads };
}

it.each([
  ["one piece", 8 * MIB],
  ["many pieces", 1000],
])("others have their turns while %s is hashed, whoever asks", async (_, size) => {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  const { upload, reads } = uploadOf(pieces);
  const [turns, digests] = await turnsDuring(() =>
    Promise.all(Array.from({ length: 20 }, () => upload.sha256(bytes.length))),
  );
  expect(new Set(digests)).toEqual(new Set([sha256(bytes.length)]));
  expect(reads()).toBe(1);
  expect(turns).toBeGreaterThanOrEqual(31);
});

it("a digest goes on from the one before it, in the middle of a piece too", async () => {
  const { upload } = uploadOf([bytes.subarray(0, 1000), bytes.subarray(1000, 5000), bytes.subarray(5000, 9000)]);
  // The last is of a store that has lost bytes.
  for (const size of [0, 1500, 1500, 6000, 9000, 2000]) expect(await upload.sha256(size)).toBe(sha256(size));
});

it("a digest of bytes that were removed meanwhile fails, and the next one is right", async () => {
  const pieces = [bytes.subarray(0, 1000)];
  const { upload } = uploadOf(pieces);
  await expect(upload.sha256(2000)).rejects.toMatchObject({ code: "aborted" });
  pieces.push(bytes.subarray(1000, 2000));
  expect(await upload.sha256(2000)).toBe(sha256(2000));
});
