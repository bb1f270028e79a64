// Files over QUIC, from disk to disk, with small calls at the same time: `npm run bench blobs -- [megabytes] [rounds]
// [quic]`.
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BlobSource, ReceivedBlob } from "@quicrpc/blobs";
import { bytesCodec, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, devCertificate, fileBlob, saveBlob, serve } from "@quicrpc/node";
import { blobCalls } from "@quicrpc/blobs/generated";

const MEGABYTE = 1_000_000;
const [megabytes = 500, rounds = 3] = process.argv.slice(2, 4).map(Number);
if ((process.argv[4] ?? "quic") !== "quic") process.exit();
const service = { name: "bench.v1.Blobs", id: 4736 };
const codec = uncheckedCodec<{ file: BlobSource }>() as ReturnType<typeof uncheckedCodec<{ file: BlobSource }>> &
  ReturnType<typeof uncheckedCodec<{ file: ReceivedBlob }>>;
type Upload = [method: string, fields: { readonly resumable?: boolean; readonly digest?: "sha-256" }];
const uploads: Upload[] = [
  ["blob", {}],
  ["resumable blob", { resumable: true }],
  ["blob with digest", { digest: "sha-256" }],
];
const methods = {
  raw: defineMethod(service, "client_stream", "raw", { id: 1, input: bytesCodec, output: uncheckedCodec<number>() }),
  echo: defineMethod(service, "unary", "echo", {
    id: 2,
    input: uncheckedCodec<number>(),
    output: uncheckedCodec<number>(),
  }),
};
const byName = uploads.map(([, options], at) =>
  defineMethod<"unary", { file: BlobSource }, { file: ReceivedBlob }, number, number>(service, "unary", `upload${at}`, {
    id: 10 + at,
    input: codec,
    output: uncheckedCodec<number>(),
    blobs: blobCalls({ input: [{ name: "file", maxBytes: Number.MAX_SAFE_INTEGER, ...options }] }),
  }),
);

const folder = await mkdtemp(join(tmpdir(), "bench-blobs-"));
const [source, target] = [join(folder, "source"), join(folder, "target")];
const certificate = await devCertificate();
const routers = [
  createRouter(methods, {
    async raw(items) {
      await pipeline(items, createWriteStream(target));
      return 0;
    },
    echo: (n) => n,
  }),
  ...byName.map((method, at) =>
    createRouter(
      { method },
      {
        async method({ file }) {
          const resumes = uploads[at]?.[1].resumable === true;
          await saveBlob(file, resumes ? join(folder, `${file.id}`) : target, { resume: resumes });
          if (resumes) await rm(join(folder, `${file.id}`));
          return 0;
        },
      },
    ),
  ),
];
const server = await serve({ port: 0, tls: certificate, routers });
const connection = await connect(server.urls[0] as string, { serverCertificateHashes: [certificate.hash] });
try {
  await writeFile(source, "");
  await truncate(source, megabytes * MEGABYTE);
  const ways: [name: string, transfer: () => Promise<unknown>][] = [
    ["stream of raw bytes", () => connection.clientStream(methods.raw, createReadStream(source))],
    ...byName.map((method, at): [string, () => Promise<unknown>] => [
      uploads[at]?.[0] ?? "",
      async () => connection.unary(method, { file: await fileBlob(source) }),
    ]),
  ];
  for (let round = 0; round < rounds; round++) {
    for (const [name, transfer] of ways) {
      const began = performance.now();
      await transfer();
      const speed = (megabytes * 1000) / (performance.now() - began);
      console.log(`${name.padEnd(20)} ${speed.toFixed(0).padStart(5)} MB/s`);
    }
  }
  for (const [name, transfer] of [["nothing else", undefined] as const, ...ways.slice(0, 2)]) {
    const state = { over: transfer === undefined };
    const transferring = transfer?.().finally(() => (state.over = true));
    const times: number[] = [];
    for (let n = 0; !state.over || times.length < 1000; n++) {
      const began = performance.now();
      await connection.unary(methods.echo, n);
      times.push(performance.now() - began);
    }
    await transferring;
    times.sort((a, b) => a - b);
    const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
    console.log(`a small call beside ${name}: ${at(0.5)} ms, 99th percentile ${at(0.99)} ms`);
  }
  const { maxRSS } = process.resourceUsage();
  console.log(`memory of both ends, at most: ${Math.round(maxRSS / 1024)} MiB`);
} finally {
  await connection.close();
  await server.close();
  await rm(folder, { recursive: true });
}
