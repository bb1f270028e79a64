// Files that another user of the machine puts into a folder of uploads.
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileUploads } from "@quicrpc/node";
import type { UploadInfo } from "@quicrpc/blobs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const SECRET = "the server may read this, and its clients may not";
const facts: UploadInfo = { field: "s/m/f", principal: "", type: "", name: "", isComplete: true };

describe.skipIf(process.platform === "win32")("links that are planted in a folder of uploads", () => {
  let root = "";
  let folder = "";
  let secret = "";
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "quicrpc-"));
    folder = join(root, "uploads");
    secret = join(root, "secret");
    await writeFile(secret, SECRET);
    await fileUploads(folder).expire?.(0);
  });
  afterEach(() => rm(root, { recursive: true }));

  it("bytes that are a link: its target is not read, written or removed", async () => {
    const store = fileUploads(folder);
    await writeFile(join(folder, "x.json"), JSON.stringify(facts));
    await symlink(secret, join(folder, "x.upload"));
    const found = await store.find("x");
    await expect(found?.read()[Symbol.asyncIterator]().next()).rejects.toThrow("ELOOP");
    await expect(found?.write(Buffer.from("overwritten"), 0)).rejects.toThrow("ELOOP");
    await found?.remove();
    expect(await readFile(secret, "utf8")).toBe(SECRET);
  });

  it("facts that are a link: there is no such upload", async () => {
    const store = fileUploads(folder);
    const elsewhere = join(root, "facts");
    await writeFile(elsewhere, JSON.stringify(facts));
    await symlink(elsewhere, join(folder, "y.json"));
    expect(await store.find("y")).toBeUndefined();
  });

  it("a pipe does not hold up a thread", async () => {
    const store = fileUploads(folder);
    execFileSync("mkfifo", [join(folder, "z.json")]);
    await expect(store.find("z")).rejects.toThrow("JSON");
  });
});
