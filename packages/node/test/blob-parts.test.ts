// Transfers that end early leave a part, and the next ones go on with it.
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Connection, createConnection, createSession, RpcError, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createBlobId } from "@quicrpc/blobs";
import { createRouter } from "@quicrpc/core/generated";
import { afterEach, beforeEach, expect, it } from "vitest";
import { blobMethods, inChunks, patterned } from "../../../test/behaviour/blob-service.js";
import { fileBlob, type PartOptions, saveBlob } from "../src/index.js";

const LENGTH = 2_000_000;
const bytes = patterned(LENGTH);

let folder: string;
let connection: Connection;
let servers: Session[];
let resume: PartOptions | true;
/** Errors of uploads at the server, by their codes. */
let failures: string[];
/** Called with the bytes that the server has taken. */
let onTaken: (taken: number) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parts-"));
  [servers, failures, resume, onTaken] = [[], [], true, () => {}];
  const router = createRouter(blobMethods, {
    async upload({ file }) {
      const path = join(folder, file.id ?? "none");
      try {
        await saveBlob(file, path, { resume, onProgress: (taken) => onTaken(taken) });
      } catch (error) {
        failures.push((error as RpcError).code);
        throw error instanceof RpcError && !error.fromCall ? error : RpcError.forward(RpcError.from(error));
      }
      return (await readFile(path)).length;
    },
    download: async () => ({ file: await fileBlob(join(folder, "source")) }),
  });
  connection = createConnection(
    async () => {
      const [client, server] = createMemoryPair();
      servers.push(createSession(server, { routers: [router], onError: () => {} }));
      return createSession(client);
    },
    { backoff: { initialMs: 1 } },
  );
});
afterEach(async () => {
  await connection.close();
  await rm(folder, { recursive: true });
});

const loseAt = (position: number): void => {
  onTaken = (taken) => {
    if (taken < position) return;
    onTaken = () => {};
    void servers.at(-1)?.close({ closeCode: 9 });
  };
};
/** The first half, and then nothing. */
async function* stalling(): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes.subarray(0, LENGTH / 2), 50_000);
  await new Promise(() => {});
}
/** Has an upload leave a part of some length. */
async function abandoned(id: string): Promise<number> {
  const stop = new AbortController();
  onTaken = (taken) => taken >= LENGTH / 2 && stop.abort();
  const file = { content: stalling, id };
  await expect(connection.unary(blobMethods.upload, { file }, { signal: stop.signal })).rejects.toThrow("cancelled");
  await expect.poll(() => failures.length, { interval: 1 }).toBe(1);
  onTaken = () => {};
  return (await readFile(join(folder, `${id}.part`))).length;
}

it("goes on after what is on the disk, and the file appears when it is whole", async () => {
  const id = createBlobId();
  loseAt(LENGTH / 2);
  expect(await connection.unary(blobMethods.upload, { file: { content: new Blob([bytes]), id } })).toBe(LENGTH);
  expect(servers.length).toBe(2);
  expect(await readdir(folder)).toEqual([id]);
  expect((await readFile(join(folder, id))).equals(bytes)).toBe(true);
});

it("goes on for a program that was started anew, and sends what is missing only", async () => {
  const id = createBlobId();
  const kept = await abandoned(id);
  expect(kept).toBeGreaterThan(0);
  const progress: number[] = [];
  const file = { content: new Blob([bytes]), id, onProgress: (sent: number): void => void progress.push(sent) };
  expect(await connection.unary(blobMethods.upload, { file })).toBe(LENGTH);
  expect(progress[0]).toBeGreaterThan(kept);
  expect(await readdir(folder)).toEqual([id]);
});

it("compares a file that is complete, and sends none of it", async () => {
  const id = createBlobId();
  let progress = 0;
  const upload = (content: Uint8Array<ArrayBuffer>): Promise<number> =>
    connection.unary(blobMethods.upload, { file: { content: new Blob([content]), id, onProgress: () => progress++ } });
  expect(await upload(bytes)).toBe(LENGTH);
  progress = 0;
  expect(await upload(bytes)).toBe(LENGTH);
  expect(progress).toBe(0);
  await expect(upload(patterned(LENGTH, 7))).rejects.toMatchObject({ code: "failed_precondition" });
  expect((await readFile(join(folder, id))).equals(bytes)).toBe(true);
  await writeFile(join(folder, id), bytes.subarray(0, 1000));
  await expect(upload(bytes)).rejects.toMatchObject({ code: "failed_precondition" });
});

it("a new transfer ends the one before it goes on, though the session of that seems to live", async () => {
  const id = createBlobId();
  let stalled!: () => void;
  const half = new Promise<void>((resolve) => (stalled = resolve));
  onTaken = (taken) => taken >= LENGTH / 2 && stalled();
  const first = connection.unary(blobMethods.upload, { file: { content: stalling, id } });
  const failure = first.catch((error: unknown) => error);
  await half;
  const file = { content: () => inChunks(bytes, 50_000), id };
  expect(await connection.unary(blobMethods.upload, { file })).toBe(LENGTH);
  expect(await failure).toMatchObject({ code: "aborted" });
  expect((await readFile(join(folder, id))).equals(bytes)).toBe(true);
});

it("a part that is no beginning of the blob is removed, and the next transfer begins anew", async () => {
  const id = createBlobId();
  await writeFile(join(folder, `${id}.part`), patterned(1000, 7));
  const upload = (): Promise<number> =>
    connection.unary(blobMethods.upload, { file: { content: new Blob([bytes]), id } });
  await expect(upload()).rejects.toMatchObject({ code: "failed_precondition" });
  expect(await readdir(folder)).toEqual([]);
  expect(await upload()).toBe(LENGTH);
});

it("a file that is changed while its session is lost is not gone on with", async () => {
  const source = join(folder, "source");
  await writeFile(source, bytes);
  const file = await fileBlob(source);
  loseAt(LENGTH / 2);
  const lost = onTaken;
  onTaken = (taken) => {
    if (taken >= LENGTH / 2) void utimes(source, 1, 1);
    lost(taken);
  };
  await expect(connection.unary(blobMethods.upload, { file })).rejects.toMatchObject({
    code: "aborted",
    message: expect.stringContaining("the file changed"),
  });
});

it("parts are bounded in number, bytes and age, before a byte is taken", async () => {
  let taken = 0;
  onTaken = () => taken++;
  const upload = (): Promise<number> => connection.unary(blobMethods.upload, { file: new Blob([bytes]) });
  const now = new Date();
  for (let n = 0; n < 3; n++) await writeFile(join(folder, `${createBlobId()}.part`), bytes);
  resume = { maxParts: 3 };
  await expect(upload()).rejects.toMatchObject({ code: "resource_exhausted" });
  resume = { maxPartBytes: LENGTH * 4 - 1 };
  await expect(upload()).rejects.toMatchObject({ code: "resource_exhausted" });
  expect({ taken, parts: (await readdir(folder)).length }).toEqual({ taken: 0, parts: 3 });
  for (const name of (await readdir(folder)).slice(0, 2)) await utimes(join(folder, name), now, 1);
  resume = { maxParts: 2, maxAgeMs: 60_000 };
  expect(await upload()).toBe(LENGTH);
  expect((await readdir(folder)).filter((name) => name.endsWith(".part")).length).toBe(1);
});

it("one of unknown length ends where there is no room", async () => {
  resume = { maxPartBytes: LENGTH / 2 };
  const call = connection.unary(blobMethods.upload, { file: inChunks(bytes, 50_000) });
  await expect(call).rejects.toMatchObject({ code: "resource_exhausted" });
  expect(await readdir(folder)).toEqual([]);
});

it("a download goes on with a part as well", async () => {
  await writeFile(join(folder, "source"), bytes);
  await writeFile(join(folder, "copy.part"), bytes.subarray(0, 1_500_000));
  const { file } = await connection.unary(blobMethods.download, 1);
  const progress: number[] = [];
  await saveBlob(file, join(folder, "copy"), { resume: true, onProgress: (taken) => progress.push(taken) });
  expect(progress[0]).toBeGreaterThan(1_500_000);
  expect((await readFile(join(folder, "copy"))).equals(bytes)).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(["copy", "source"]);
});

it("leaves nothing of a transfer that is cancelled before its file is open, where it is not to go on", async () => {
  await writeFile(join(folder, "source"), bytes);
  const { file } = await connection.unary(blobMethods.download, 1);
  const save = (): Promise<void> => saveBlob(file, join(folder, "copy"), { signal: AbortSignal.abort() });
  // Many at once, so that the file system answers them out of their order.
  const saved = await Promise.allSettled(Array.from({ length: 500 }, save));
  expect(new Set(saved.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(await readdir(folder)).toEqual(["source"]);
});
