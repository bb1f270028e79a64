import { expect, it } from "vitest";
import { BlobProgress, sizeOf } from "./blob-progress.js";

it("progress is one line of a terminal, written ten times a second and when all is there", () => {
  let now = 0;
  let written = "";
  const progress = new BlobProgress({ isTTY: true, write: (text) => (written += text) }, () => now);
  progress.moved("photo", 0, 4_000_000);
  now = 50;
  progress.moved("photo", 500_000, 4_000_000);
  now = 1000;
  progress.moved("photo", 2_000_000, 4_000_000);
  now = 1050;
  progress.moved("photo", 4_000_000, 4_000_000);
  progress.end();
  progress.end();
  expect(written.split("\r").map((line) => line.trimEnd())).toEqual([
    "",
    "photo: 0 B of 4.0 MB, 0%",
    "photo: 2.0 MB of 4.0 MB, 50%, 2.0 MB/s",
    "photo: 4.0 MB of 4.0 MB, 100%, 3.8 MB/s",
  ]);
});

it("nothing is written where there is no terminal, and a name of the peer is escaped", () => {
  let written = "";
  new BlobProgress({ write: (text) => (written += text) }).moved("photo", 1, 1);
  expect(written).toBe("");
  new BlobProgress({ isTTY: true, write: (text) => (written += text) }).moved("\u001b[2J", 1, undefined);
  expect(written).not.toContain("\u001b");
  expect(sizeOf(999)).toBe("999 B");
});
