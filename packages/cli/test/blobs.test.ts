import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { saveBlob, serve, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { blobCalls } from "@quicrpc/blobs/generated";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

vi.setConfig({ testTimeout: 60_000 });

const service = { name: "demo.v1.Files", id: 322 };
const any = uncheckedCodec<unknown>();
const messages = { input: any, output: any };
const methods = {
  put: defineMethod(service, "unary", "put", {
    id: 1,
    ...messages,
    blobs: blobCalls({ input: [{ name: "file", maxBytes: 2_000_000 }] }),
  }),
  get: defineMethod(service, "unary", "get", { id: 2, ...messages, blobs: blobCalls({ output: [{ name: "file" }] }) }),
  two: defineMethod(service, "unary", "two", {
    id: 3,
    ...messages,
    blobs: blobCalls({ output: [{ name: "a" }, { name: "b" }] }),
  }),
  keep: defineMethod(service, "unary", "keep", {
    id: 4,
    ...messages,
    blobs: blobCalls({ input: [{ name: "file", resumable: true, digest: "sha-256" }] }),
  }),
  fetch: defineMethod(service, "unary", "fetch", {
    id: 5,
    ...messages,
    blobs: blobCalls({ output: [{ name: "file", resumable: true }] }),
  }),
};

const content = new Uint8Array(600_000).map((_, i) => i % 251);
/** In no project of schemas. */
const folder = mkdtempSync(join(tmpdir(), "quicrpc-blobs-"));
const kept = join(folder, "kept");
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
let server: Server;
let url: string;
/** Bytes after which the next transfer loses its session; then the handler loses no more. */
let losesAfter = Infinity;
let name = "photo.jpg";
let ids: (string | undefined)[] = [];

beforeAll(async () => {
  await mkdir(kept);
  const router = createRouter(methods, {
    put: async (input) => {
      const { note, file } = input as { note: string; file?: ReceivedBlob };
      return { note, name: file?.name, length: file?.length, bytes: (await file?.bytes())?.length };
    },
    get: () => ({ note: "n", file: { content: new Blob([content]), name, type: "image/jpeg" } }),
    two: () => ({ a: new Blob(["first"]), b: new Blob(["second"]) }),
    keep: async (input, context) => {
      const { file } = input as { file: ReceivedBlob };
      ids.push(file.id);
      const limit = losesAfter;
      losesAfter = Infinity;
      const onProgress = (bytes: number): void => {
        if (bytes >= limit) lose(context);
      };
      await saveBlob(file, join(kept, `${file.id}`), { resume: true, onProgress });
      return { bytes: (await readFile(join(kept, `${file.id}`))).length };
    },
    fetch: (_, context) => {
      const limit = losesAfter;
      losesAfter = Infinity;
      const chunks = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < content.length; at += 50_000) {
          if (at >= limit) lose(context);
          yield content.subarray(at, at + 50_000);
        }
      };
      return { file: { content: chunks, length: content.length } };
    },
  });
  const routers = [router];
  server = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [...routers, createReflection(routers)] });
  [url] = server.urls as [string];
});
beforeEach(() => {
  losesAfter = Infinity;
  name = "photo.jpg";
  ids = [];
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** Ends the session of a call as one that is lost. */
function lose({ session }: { readonly session: unknown }): void {
  void (session as { close(options: { code: string; reason: string }): Promise<void> }).close({
    code: "unavailable",
    reason: "lost for the test",
  });
}

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function quicrpc(args: readonly string[], stdin: Uint8Array = new Uint8Array()): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { ...process.env, NO_COLOR: "1" } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("latin1").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

const call = (method: string, input: unknown, args: readonly string[] = [], stdin?: Uint8Array): Promise<Outcome> =>
  quicrpc(["call", url, `demo.v1.Files/${method}`, JSON.stringify(input), ...args], stdin);

describe("blobs of a call", () => {
  it("describe and ls show them", async () => {
    const { stdout } = await quicrpc(["describe", url, "demo.v1.Files/keep"]);
    expect(stdout).toContain("// file of the input is a blob: resumable, checked by its SHA-256");
    expect((await quicrpc(["describe", url, "demo.v1.Files/put"])).stdout).toContain("a blob: at most 2000000 bytes");
    expect((await quicrpc(["ls", url])).stdout).toMatch(/get\s+unary, blobs/);
  });

  it("a file is sent for a field, with its name, or stdin", async () => {
    await writeFile(join(folder, "lake.jpg"), content);
    const sent = await call("put", { note: "x", file: "@lake.jpg" });
    expect(sent).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(sent.stdout)).toEqual({ note: "x", name: "lake.jpg", length: 600_000, bytes: 600_000 });
    const piped = await call("put", { note: "y", file: "@-" }, [], content);
    expect(JSON.parse(piped.stdout)).toEqual({ note: "y", name: "", bytes: 600_000 });
    expect(JSON.parse((await call("put", { note: "none" })).stdout)).toEqual({ note: "none" });
  });

  it("what names no file is refused before it is sent", async () => {
    const text = await call("put", { file: "lake.jpg" });
    expect(text).toMatchObject({ code: 1, stderr: expect.stringContaining('file is a blob: pass "@file"') });
    const none = await call("put", { file: "@nowhere.jpg" });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot read the file of file") });
  });

  it("an answer's blob goes into a file, a folder, or to stdout, and else says that it was not taken", async () => {
    const file = await call("get", {}, ["--out", "one.jpg"]);
    expect(JSON.parse(file.stdout)).toEqual({
      note: "n",
      file: { file: "one.jpg", bytes: 600_000, type: "image/jpeg", name: "photo.jpg" },
    });
    expect(new Uint8Array(await readFile(join(folder, "one.jpg")))).toEqual(content);
    await mkdir(join(folder, "into"));
    await call("get", {}, ["--out", "into"]);
    expect(await readdir(join(folder, "into"))).toEqual(["photo.jpg"]);
    const again = await call("get", {}, ["--out", "into"]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("use --out file=file to replace a file") });
    const piped = await call("get", {}, ["--out", "-"]);
    expect(new Uint8Array(Buffer.from(piped.stdout, "latin1"))).toEqual(content);
    const nowhere = await call("get", {}, ["--out", "nowhere/one.jpg"]);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("nowhere/one.jpg cannot be written") });
    const left = await call("get", {});
    expect(left).toMatchObject({ code: 0, stderr: "The answer's file was not saved: use --out to save it.\n" });
    expect(JSON.parse((await call("get", { key: "a" }, ["--json"])).stderr)).toEqual({
      notice: "The answer's file was not saved: use --out to save it.",
    });
    expect(JSON.parse(left.stdout)).toMatchObject({ file: { bytes: 600_000, name: "photo.jpg" } });
  });

  it("each of several blobs goes where its name says", async () => {
    const both = await call("two", {}, ["--out", "a=first.txt", "--out", "b=second.txt"]);
    expect(both.code).toBe(0);
    expect(await readFile(join(folder, "first.txt"), "utf8")).toBe("first");
    expect(await readFile(join(folder, "second.txt"), "utf8")).toBe("second");
    const unclear = await call("two", {}, ["--out", "both.txt"]);
    expect(unclear).toMatchObject({ code: 1, stderr: expect.stringContaining("or a=file, b=file") });
  });

  it("a name that the server chose leads nowhere but into the folder", async () => {
    await mkdir(join(folder, "safe"));
    name = "../../.\u001b]0;evil\u0007\u202etxt";
    expect((await call("get", {}, ["--out", "safe"])).code).toBe(0);
    expect(await readdir(join(folder, "safe"))).toEqual(["_]0;evil__txt"]);
  });

  it("a resumable upload and download go on after the loss of their session", async () => {
    await writeFile(join(folder, "big.bin"), content);
    losesAfter = 200_000;
    const sent = await call("keep", { file: "@big.bin" });
    expect(sent).toMatchObject({ code: 0, stdout: '{"bytes":600000}\n' });
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    losesAfter = 200_000;
    expect(await call("fetch", {}, ["--out", "got.bin"])).toMatchObject({ code: 0 });
    expect(new Uint8Array(await readFile(join(folder, "got.bin")))).toEqual(content);
    expect(existsSync(join(folder, "got.bin.part"))).toBe(false);
  });

  it("a download that was begun in another run goes on after what is there, an upload by its id", async () => {
    await writeFile(join(folder, "later.bin.part"), content.subarray(0, 123_456));
    expect(await call("fetch", {}, ["--out", "later.bin"])).toMatchObject({ code: 0 });
    expect(new Uint8Array(await readFile(join(folder, "later.bin")))).toEqual(content);
    const id = "0123456789abcdef0123456789abcdef";
    await writeFile(join(kept, `${id}.part`), content.subarray(0, 1000));
    await writeFile(join(folder, "big.bin"), content);
    expect(await call("keep", { file: "@big.bin" }, ["--upload-id", id])).toMatchObject({ code: 0 });
    expect(ids).toEqual([id]);
    expect(new Uint8Array(await readFile(join(kept, id)))).toEqual(content);
    const misplaced = await call("put", { file: "@big.bin" }, ["--upload-id", id]);
    expect(misplaced).toMatchObject({ code: 1, stderr: expect.stringContaining("--upload-id requires") });
  });

  it("an answer that has no blob where it was described fails the call", async () => {
    const liar = createRouter(
      { get: defineMethod(service, "unary", "get", { id: 2, ...messages }) },
      { get: () => ({ file: 7 }) },
    );
    const routers = [createRouter({ get: methods.get }, { get: () => ({}) })];
    const other = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [liar, createReflection(routers)] });
    const [at] = other.urls as [string];
    const { code, stderr } = await quicrpc(["call", at, "demo.v1.Files/get", "{}"]);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the field "file" was described as a blob'),
    });
    await other.close();
  });
});
