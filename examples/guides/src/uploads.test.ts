import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { localNotes } from "./local.js";
import { archive, attach, save, upload } from "./uploads.js";

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

it("uploads a blob, shows how far it is, and writes it to a disk again", async () => {
  const notes = localNotes();
  const bytes = new Uint8Array(700_000).map((_, at) => at % 251);
  const bar = { value: 0, max: 1 };
  await upload(notes, "7", new File([bytes], "../../a.bin", { type: "image/png" }), bar);
  expect(bar).toEqual({ value: bytes.length, max: bytes.length });
  const folder = await mkdtemp(join(tmpdir(), "notes-"));
  try {
    await save(notes, "7", join(folder, "b.bin"));
    expect((await readFile(join(folder, "b.bin"))).equals(bytes)).toBe(true);
    const { file } = await notes.download({ note: "7" });
    expect({ name: file.name, type: file.type, length: file.length }).toEqual({
      name: "../../a.bin",
      type: "image/png",
      length: bytes.length,
    });
    const stop = AbortSignal.abort();
    await expect(save(notes, "7", join(folder, "c.bin"), stop)).rejects.toMatchObject({ code: "cancelled" });
    expect(await readdir(folder)).toEqual(["b.bin"]);
    await expect(save(notes, "8", join(folder, "d.bin"))).rejects.toMatchObject({ code: "not_found" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("refuses a blob that is larger than its schema says before it is read", async () => {
  const content = (): AsyncIterable<Uint8Array> => {
    throw new Error("it was read");
  };
  const file = { content, length: 50_000_001 };
  await expect(localNotes().upload({ note: "7", file })).rejects.toMatchObject({ code: "resource_exhausted" });
});

it("goes on with a large file that was begun, and forgets it when it is whole", async () => {
  const notes = localNotes();
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
  const bytes = new Uint8Array(700_000).map((_, at) => at % 251);
  await archive(notes, "7", new File([bytes], "a.bin"), storage);
  expect(kept.size).toBe(0);
  const { file } = await notes.download({ note: "7" });
  expect(Buffer.from(await file.bytes()).equals(bytes)).toBe(true);
});
