import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { expect, it } from "vitest";
import { createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

it.skipIf(!hasCurl)("curl uploads a file, whole and in parts, and goes on with a download", async () => {
  const folder = await mkdtemp(join(tmpdir(), "curl-"));
  const ranges: (string | undefined)[] = [];
  const handler = toNodeHandler(createFetchHandler({ routers: [createNotesRouter(createNotes())] }));
  const server = createServer((request, response) => {
    if (request.method === "GET") ranges.push(request.headers.range);
    handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const file = join(folder, "photo.jpg");
    const bytes = new Uint8Array(2000).map((_, at) => at % 251);
    await writeFile(file, bytes);
    const script = fileURLToPath(new URL("blobs.sh", import.meta.url));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout } = await promisify(execFile)("sh", [script, base, file]);
    expect(stdout).toBe('{"bytes":2000}{"bytes":2000}');
    expect((await readFile(`${file}.copy`)).equals(bytes)).toBe(true);
    expect(ranges).toEqual(["bytes=700-"]);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
});
