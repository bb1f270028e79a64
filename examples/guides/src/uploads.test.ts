import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { localNotes } from "./local.js";
import { attach } from "./uploads.js";

it("uploads a file, and tells how far it is", async () => {
  const bytes = new Uint8Array(200_000).map((_, at) => at % 251);
  const progress: number[] = [];
  const { bytes: arrived, sha256 } = await attach(localNotes(), "7", new File([bytes], "a.bin"), {
    onProgress: (sent) => progress.push(sent),
  });
  expect(arrived).toBe(bytes.length);
  expect(sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
  expect(progress).toEqual([65_536, 131_072, 196_608, 200_000]);
});

it("is refused before its bytes are sent where it is too large", async () => {
  const file = { name: "a.bin", size: 60_000_000, slice: () => new Blob([new Uint8Array(65_536)]) };
  const sent: number[] = [];
  await expect(
    attach(localNotes(), "7", file as unknown as File, { onProgress: (bytes) => sent.push(bytes) }),
  ).rejects.toMatchObject({ reason: "TOO_LARGE", details: { most: 50_000_000 } });
  expect(sent.length).toBeLessThan(100);
});
