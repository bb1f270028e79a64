// Uploads over HTTP to a server of `serve`, kept in a folder: they outlive the server, and its sessions' principals are theirs.
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileUploads, serve, type Server } from "@quicrpc/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createBlobsRouter } from "../../packages/http/test/generated/blobs.js";

let folder: string;
let server: Server | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "uploads-"));
});
afterEach(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

const router = createBlobsRouter({
  put: async ({ note, file }) => `${note} ${file.type} ${file.name} ${Buffer.from(await file.bytes()).toString()}`,
  get: () => ({}),
  check: async ({ file }) => String((await file.bytes()).length),
  same: () => ({}),
});

async function started(uploads = fileUploads(folder), limits = {}): Promise<string> {
  server = await serve({
    listen: ["http://127.0.0.1:0"],
    routers: [router],
    authenticate: async ({ credentials }) => ({ user: await credentials }),
    limits,
    http: { uploads },
    advanced: { principal: ({ connection }) => String((connection as { user: unknown }).user) },
  });
  return `http://${new URL(server.urls[0] as string).host}`;
}

const ask = (
  url: string,
  method: string,
  headers: Record<string, string> = {},
  body?: string,
  user = "ann",
): Promise<Response> =>
  fetch(url, { method, headers: { authorization: `Bearer ${user}`, ...headers }, ...(body !== undefined && { body }) });

const said = { "content-type": "text/plain", "content-disposition": 'attachment; filename="a.txt"' };
const PARTIAL = { "content-type": "application/partial-upload" };
const field = "/test.v1.HttpBlobs/put/file";

it("an upload goes on at the next server that has its folder, and is gone when its call is over", async () => {
  let base = await started();
  const begun = await ask(base + field, "POST", { ...said, "upload-complete": "?0" }, "hello ");
  const path = begun.headers.get("location") ?? "";
  await server?.close();
  base = await started();
  const head = await ask(base + path, "HEAD");
  expect([head.status, head.headers.get("upload-offset")]).toEqual([204, "6"]);
  expect((await ask(base + path, "HEAD", {}, undefined, "bob")).status).toBe(404);
  const rest = { ...PARTIAL, "upload-offset": "6", "upload-complete": "?1" };
  expect((await ask(base + path, "PATCH", rest, "world")).status).toBe(204);
  await server?.close();
  base = await started();
  const json = JSON.stringify({ note: "n", file: { url: path } });
  const answer = await ask(`${base}/test.v1.HttpBlobs/put`, "POST", { "content-type": "application/json" }, json);
  expect(await answer.json()).toBe("n text/plain a.txt hello world");
  expect(await readdir(folder)).toEqual([]);
});

it("the folder is bounded, and what was left too long ago is removed", async () => {
  const base = await started(fileUploads(folder, { maxUploads: 2, maxBytes: 15 }));
  const urls: string[] = [];
  for (const text of ["0123456789", "01234"]) {
    urls.push((await ask(base + field, "POST", said, text)).headers.get("location") ?? "");
  }
  const third = await ask(base + field, "POST", said, "0");
  expect([third.status, await third.json()]).toMatchObject([429, { message: expect.stringContaining("2 uploads") }]);
  expect((await ask(base + (urls[1] ?? ""), "DELETE")).status).toBe(204);
  const large = await ask(base + field, "POST", said, "012345");
  expect([large.status, await large.json()]).toMatchObject([
    429,
    { message: expect.stringContaining("bytes have reached") },
  ]);
  const long = new Date(Date.now() - 7_200_000);
  for (const name of await readdir(folder)) await utimes(join(folder, name), long, long);
  expect((await ask(base + field, "POST", said, "0")).status).toBe(201);
  expect((await readdir(folder)).length).toBe(2);
});

it("requests at the same time do not fill a folder beyond its bounds", async () => {
  const base = await started(fileUploads(folder, { maxUploads: 3, maxBytes: 20 }));
  const many = await Promise.all(Array.from({ length: 12 }, () => ask(base + field, "POST", said, "0123456789")));
  const statuses = many.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(2);
  expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([]);
  expect((await readdir(folder)).filter((name) => name.endsWith(".upload")).length).toBeLessThanOrEqual(3);
});

it("one id has one upload in a folder that servers share", async () => {
  const facts = { field: "f", principal: "", type: "", name: "", isComplete: false };
  const [one, other] = [fileUploads(folder), fileUploads(folder)];
  const made = await Promise.allSettled(
    [one, other].map((store) => store.create("a".repeat(32), facts, () => {}, "somebody")),
  );
  expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(made.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "already_exists" } });
  expect((await readdir(folder)).length).toBe(2);
});

it("facts that a process has left without their bytes are removed when they are old", async () => {
  const names = [`${"b".repeat(32)}.json`, `${"c".repeat(32)}.json.0f`, "of-somebody-else.txt"];
  for (const name of names) {
    await writeFile(join(folder, name), "{}");
    await utimes(join(folder, name), 1, 1);
  }
  await fileUploads(folder).expire?.(Date.now() - 1000);
  expect(await readdir(folder)).toEqual(["of-somebody-else.txt"]);
});

it("what waits for calls over HTTP and what sessions send count together for a principal", async () => {
  const base = await started(undefined, { maxPrincipalBlobs: 1 });
  expect((await ask(base + field, "POST", said, "a")).status).toBe(201);
  expect((await ask(base + field, "POST", said, "a")).status).toBe(429);
  expect((await ask(base + field, "POST", said, "a", "bob")).status).toBe(201);
});
