// Files over plain HTTP/1.1, from disk to disk, alternating with a stream of raw bytes: `npm run bench blobs --
// [megabytes] [rounds] http [way]`, for example with the way "blob up". The source takes no room on the disk; written
// files are removed after each transfer.
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BlobSource, ReceivedBlob } from "@quicrpc/blobs";
import { bytesCodec, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { httpTransport } from "@quicrpc/http";
import { fileBlob, fileUploads, saveBlob, serve } from "@quicrpc/node";
import { blobCalls } from "@quicrpc/blobs/generated";
import { median } from "./median.js";

const MEGABYTE = 1_000_000;
const [megabytes = 500, rounds = 3] = process.argv.slice(2, 4).map(Number);
const [only = "http", wanted = ""] = process.argv.slice(4);
if (only !== "http") process.exit();

const service = { name: "bench.v1.HttpBlobs", id: 4737 };
const number = uncheckedCodec<number>();
const sent = uncheckedCodec<{ file: BlobSource }>();
const received = uncheckedCodec<{ file: ReceivedBlob }>();
const fieldOf = (digest: "sha-256" | undefined) => [{ name: "file", maxBytes: Number.MAX_SAFE_INTEGER, digest }];
const up = (name: string, id: number, digest?: "sha-256") =>
  defineMethod<"unary", { file: BlobSource }, { file: ReceivedBlob }, number, number>(service, "unary", name, {
    id,
    input: sent as typeof sent & typeof received,
    output: number,
    blobs: blobCalls({ input: fieldOf(digest) }),
  });
const down = (name: string, id: number, digest?: "sha-256") =>
  defineMethod<"unary", number, number, { file: BlobSource }, { file: ReceivedBlob }>(service, "unary", name, {
    id,
    input: number,
    output: sent as typeof sent & typeof received,
    blobs: blobCalls({ output: fieldOf(digest) }),
  });
const methods = {
  raw: defineMethod(service, "client_stream", "raw", { id: 1, input: bytesCodec, output: number }),
  rawBack: defineMethod(service, "server_stream", "rawBack", { id: 2, input: number, output: bytesCodec }),
  upload: up("upload", 3),
  uploadWithDigest: up("uploadWithDigest", 4, "sha-256"),
  download: down("download", 5),
  downloadWithDigest: down("downloadWithDigest", 6, "sha-256"),
};

const folder = await mkdtemp(join(tmpdir(), "bench-blobs-"));
const [source, target] = [join(folder, "source"), join(folder, "target")];
// An upload is a file of the server's when its call is made.
const uploaded = ({ file }: { file: ReceivedBlob }): number => file.length ?? 0;
const routers = [
  createRouter(methods, {
    async raw(items) {
      await pipeline(items, createWriteStream(target));
      return 0;
    },
    rawBack: () => createReadStream(source, { highWaterMark: 65_536 }) as AsyncIterable<Uint8Array<ArrayBuffer>>,
    upload: uploaded,
    uploadWithDigest: uploaded,
    download: async () => ({ file: await fileBlob(source) }),
    downloadWithDigest: async () => ({ file: await fileBlob(source) }),
  }),
];
const uploads = fileUploads(join(folder, "uploads"), { maxBytes: Number.MAX_SAFE_INTEGER });
const limits = { maxPrincipalBlobBytes: Number.MAX_SAFE_INTEGER };
const server = await serve({ listen: "ws://127.0.0.1:0", routers, http: { uploads }, limits });
const caller = httpTransport({ uploads: "full" }).caller((server.urls[0] as string).replace("ws:", "http:"));
/** CPU time of both ends in milliseconds; both run in this process. */
const cpuMs = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1000;
const saved = async (answer: unknown): Promise<void> =>
  saveBlob(((await answer) as { file: ReceivedBlob }).file, target);

try {
  await writeFile(source, "");
  await truncate(source, megabytes * MEGABYTE);
  const ways = [
    ["raw bytes up", async () => caller.start(methods.raw, createReadStream(source))],
    ["blob up", async () => caller.start(methods.upload, { file: await fileBlob(source) })],
    ["blob with digest up", async () => caller.start(methods.uploadWithDigest, { file: await fileBlob(source) })],
    ["raw bytes down", async () => pipeline(caller.start(methods.rawBack, 0), createWriteStream(target))],
    ["blob down", async () => saved(caller.start(methods.download, 0))],
    ["blob with digest down", async () => saved(caller.start(methods.downloadWithDigest, 0))],
  ] as const;
  const all = new Map<string, { speeds: number[]; cpu: number[] }>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, transfer] of ways) {
      if (!name.startsWith(wanted)) continue;
      const [began, before] = [performance.now(), cpuMs()];
      await transfer();
      const { speeds, cpu } = all.get(name) ?? { speeds: [], cpu: [] };
      all.set(name, { speeds, cpu });
      speeds.push((megabytes * 1000) / (performance.now() - began));
      cpu.push((cpuMs() - before) / megabytes);
      await rm(target, { force: true });
    }
  }
  for (const [name, { speeds, cpu }] of all) {
    const ms = median(cpu).toFixed(2);
    console.log(`${name.padEnd(21)} ${median(speeds).toFixed(0).padStart(5)} MB/s, ${ms} ms of CPU per MB, both ends`);
  }
  const { maxRSS } = process.resourceUsage();
  console.log(`memory of both ends, at most: ${Math.round(maxRSS / 1024)} MiB`);
} finally {
  caller.close();
  await server.close();
  await rm(folder, { recursive: true });
}
