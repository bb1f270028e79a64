// Blobs that go on after the loss of a session, and what is compared before they do, over sessions of every kind.
import { type Connection, type Router, RpcError } from "@quicrpc/core";
import { type BlobSource, createBlobId } from "@quicrpc/blobs";
import { bytesCodec, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readBlob } from "../../packages/blobs/src/read-method.js";
import { blobMethods, inChunks, Keeper, patterned } from "./blob-service.js";
import { connectPairs } from "./connected-pairs.js";
import { distinctKinds, kindsFor, type LocalKind, type Pair } from "./kinds.js";

const LENGTH = 700_000;
/** Chunks after which a session is lost. */
const CHUNKS = 3;

/** So much of `bytes`, and then nothing: what has arrived when a session is lost is not all. */
async function* begun(bytes: Uint8Array, share: number): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes.subarray(0, Math.ceil(bytes.length * share)), 20_000);
  await new Promise(() => {});
}

describe.each(kindsFor("C88", distinctKinds) as readonly LocalKind[])("blobs that go on: $name", (kind) => {
  let connection: Connection;
  let pairs: Pair[];
  let close: () => Promise<void>;
  let keeper: Keeper;
  const serve = (router: Router): void => {
    ({ connection, pairs, close } = connectPairs(kind, { routers: [router], onError: () => {} }));
  };
  beforeEach(() => {
    keeper = new Keeper();
    serve(keeper.router);
  });
  afterEach(() => close());

  const ends = [
    (pair: Pair) => pair.server.close({ closeCode: 9 }),
    (pair: Pair) => pair.client.close({ closeCode: 9 }),
  ];
  /** Returns what loses the session at every third chunk, by either side in turn, twice. */
  const losing = (): (() => void) => {
    let chunks = 0;
    return () => {
      chunks++;
      if (chunks % CHUNKS === 0 && pairs.length <= ends.length) void ends[pairs.length - 1]?.(pairs.at(-1) as Pair);
    };
  };
  const sources: Record<string, (bytes: Uint8Array<ArrayBuffer>) => BlobSource> = {
    "a File": (bytes) => new File([bytes], "a.bin"),
    "a stream": (bytes) => inChunks(bytes, 20_000),
    "a function": (bytes) => () => inChunks(bytes, 20_000),
  };

  it.each(Object.keys(sources))("C88 an upload of %s goes on in a new call of its handler", async (name) => {
    const bytes = patterned(LENGTH);
    keeper.onChunk = losing();
    const progress: number[] = [];
    const source = sources[name]?.(bytes) as BlobSource & object;
    const described = "content" in source ? source : { content: source, length: LENGTH };
    const onProgress = (sent: number): void => void progress.push(sent);
    expect(await connection.unary(blobMethods.upload, { file: { ...described, onProgress } as BlobSource })).toBe(
      LENGTH,
    );
    expect(keeper.bytes.equals(bytes)).toBe(true);
    // What had arrived of a lost session may be all of it.
    expect(keeper.parts.size).toBe(1);
    expect(keeper.entered).toBeGreaterThan(1);
    expect(progress.at(-1)).toBe(LENGTH);
    expect(connection.state).not.toHaveProperty("resuming");
  });

  it("C88 a download goes on by a call that is made anew", async () => {
    const bytes = patterned(LENGTH);
    keeper.source = () => {
      const { length } = pairs;
      return { length: LENGTH, content: () => (length < 3 ? begun(bytes, length / 3) : inChunks(bytes, 20_000)) };
    };
    const { file } = await connection.unary(blobMethods.download, 1);
    const chunks: Uint8Array[] = [];
    let taken = 0;
    for await (const chunk of file) {
      chunks.push(chunk);
      taken += chunk.length;
      if (taken >= (LENGTH * pairs.length) / 3) void ends[pairs.length - 1]?.(pairs.at(-1) as Pair);
    }
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(pairs.length).toBe(3);
  });

  it("C88 an upload that a program began goes on when another names it", async () => {
    const bytes = patterned(LENGTH);
    const id = createBlobId();
    const stop = new AbortController();
    let chunks = 0;
    keeper.onChunk = () => ++chunks === CHUNKS && stop.abort();
    const first = connection.unary(
      blobMethods.upload,
      { file: { content: () => begun(bytes, 1 / 2), id } },
      { signal: stop.signal },
    );
    await expect(first).rejects.toMatchObject({ code: "cancelled" });
    const kept = keeper.bytes.length;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(LENGTH);
    keeper.onChunk = () => {};
    const progress: number[] = [];
    const file = { content: new Blob([bytes]), id, onProgress: (sent: number): void => void progress.push(sent) };
    expect(await connection.unary(blobMethods.upload, { file })).toBe(LENGTH);
    expect(progress[0]).toBeGreaterThan(kept);
    expect(keeper.bytes.equals(bytes)).toBe(true);
  });

  it("C89 a file that was changed, or another one of the same name, is not gone on with", async () => {
    for (const other of [patterned(LENGTH, 7), patterned(1000)]) {
      keeper.parts.clear();
      const contents = [begun(patterned(LENGTH), 1 / 2), inChunks(other, 20_000)];
      keeper.onChunk = () => {
        keeper.onChunk = () => {};
        void pairs.at(-1)?.server.close({ closeCode: 9 });
      };
      const content = (): AsyncIterable<Uint8Array> => contents.shift() ?? expect.unreachable();
      const call = connection.unary(blobMethods.upload, { file: content });
      await expect(call).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining("has changed since the transfer started"),
      });
      expect(keeper.completed).toBe(0);
      expect(keeper.bytes.equals(patterned(LENGTH).subarray(0, keeper.bytes.length))).toBe(true);
    }
  });

  it("C89 a download whose source was changed fails rather than be of two", async () => {
    for (const other of [patterned(LENGTH, 7), patterned(LENGTH - 1)]) {
      keeper.source = () => ({ length: LENGTH, content: () => begun(patterned(LENGTH), 1 / 2) });
      const { file } = await connection.unary(blobMethods.download, 1);
      keeper.source = () => new Blob([other]);
      const reading = (async () => {
        for await (const _ of file) void pairs.at(-1)?.server.close({ closeCode: 9 });
      })();
      await expect(reading).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining("has changed since the transfer started"),
      });
    }
  });

  it("C89 bytes that are not those of the digest, and a digest that is missing, are a loss of data", async () => {
    await connection.close();
    const digests = ["0".repeat(64), undefined];
    const identity = { name: blobMethods.download.service.name, id: blobMethods.download.service.id };
    const codec = uncheckedCodec<unknown>();
    const download = defineMethod(identity, "unary", "download", { id: 2, input: codec, output: codec });
    const read = defineMethod(readBlob.service, "server_stream", "read", { id: 1, input: codec, output: bytesCodec });
    serve({
      methods: [
        ...createRouter({ download }, { download: () => ({ file: [1, 10, "", "", ""] }) }).methods,
        ...createRouter(
          { read },
          {
            async *read(_, { trailers }) {
              const digest = digests.shift();
              if (digest !== undefined) trailers.set("sha-256", digest);
              yield new Uint8Array(10);
            },
          },
        ).methods,
      ],
    });
    for (const said of ["its sender's is 000", "its sender has sent none"]) {
      const { file } = await connection.unary(blobMethods.download, 1);
      await expect(file.bytes()).rejects.toMatchObject({
        code: "data_loss",
        message: expect.stringContaining(said),
      });
    }
  });

  it("C89 a position that is none, and an id that is none, are errors of whoever sends them", async () => {
    const raw = defineMethod(blobMethods.upload.service, "unary", "upload", {
      id: 1,
      input: uncheckedCodec<unknown>(),
      output: uncheckedCodec<unknown>(),
    });
    for (const id of ["../../etc/passwd", "A".repeat(32), "0".repeat(31)]) {
      const call = connection.unary(raw, { file: [1, 10, "", "", id] });
      await expect(call).rejects.toMatchObject({ code: "invalid_argument" });
    }
    expect(keeper.entered).toBe(0);
    let opened = 0;
    const content = (): AsyncIterable<Uint8Array> => {
      opened++;
      return inChunks(patterned(10), 10);
    };
    keeper.source = () => ({ content, length: 10 });
    const rawDownload = defineMethod(blobMethods.download.service, "unary", "download", {
      id: 2,
      input: uncheckedCodec<number>(),
      output: uncheckedCodec<{ file: readonly [ref: number] }>(),
    });
    const session = await connection.ready();
    for (const [from, code] of [
      [-1, "invalid_argument"],
      [0.5, "invalid_argument"],
      [11, "failed_precondition"],
    ] as const) {
      const { file } = await session.unary(rawDownload, 1);
      const items = session.serverStream(readBlob, { ref: file[0], from });
      const reading = (async () => {
        for await (const _ of items);
      })();
      await expect(reading).rejects.toMatchObject({ code });
      await expect(reading).rejects.toBeInstanceOf(RpcError);
    }
    expect(opened).toBe(0);
  });
});
