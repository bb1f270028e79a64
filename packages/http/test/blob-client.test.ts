// Generated clients send and receive blobs over HTTP, and go on after lost connections.
import type { BlobSource, ReceivedBlob } from "@quicrpc/blobs";
import { createBlobId } from "@quicrpc/blobs";
import { RpcError } from "@quicrpc/core";
import { type Fetch, httpTransport, plainJson } from "@quicrpc/http";
import { afterEach, describe, expect, it } from "vitest";
import { type BlobHandlers, patterned, type Running, serveBlobs, SERVERS } from "./blob-service.js";
import { type BlobsClient, createBlobsClient } from "./generated/blobs.js";

let running: Running | undefined;
afterEach(() => running?.close());

const bytes = patterned(5_000_000);

/** Sees each request, and may fail it. */
type Tap = (verb: string, url: string, made: () => Promise<Response>) => Promise<Response>;

const FORMATS = { MessagePack: undefined, JSON: plainJson } as const;

async function readAll(blob: ReceivedBlob | undefined, options = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of blob?.chunks(options) ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function served(
  kind: (typeof SERVERS)[number],
  handlers: Partial<BlobHandlers>,
  tap: Tap = (_verb, _url, made) => made(),
  codec?: (typeof FORMATS)[keyof typeof FORMATS],
): Promise<BlobsClient> {
  const server = await serveBlobs(kind, handlers, {
    limits: { maxBlobBytes: 20_000_000, maxSessionBytes: 40_000_000 },
  });
  running = server;
  const fetch: Fetch = (url, init) => tap(init.method, url, () => server.fetch(url, init));
  return createBlobsClient(httpTransport({ fetch, ...(codec && { codec }) }).caller(new URL(server.url).origin));
}

/** Both blobs of a message, kept. */
const kept = (): { handlers: Partial<BlobHandlers>; got: Buffer[] } => {
  const got: Buffer[] = [];
  const same: BlobHandlers["same"] = async ({ first, second }) => {
    got.push(await readAll(first), await readAll(second));
    const again = (blob: ReceivedBlob | undefined, content: Buffer | undefined): BlobSource | undefined =>
      blob && { content: new Blob([new Uint8Array(content ?? [])]), type: blob.type, name: blob.name };
    const [one, two] = [again(first, got.at(-2)), again(second, got.at(-1))];
    return { ...(one && { first: one }), ...(two && { second: two }) };
  };
  return { handlers: { same }, got };
};

describe.each(SERVERS)("blobs by a client: %s", (kind) => {
  it.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])(
    "both ways, with their names, types and progress, in %s",
    async (format) => {
      const { handlers, got } = kept();
      const client = await served(kind, handlers, undefined, FORMATS[format]);
      const sent: number[] = [];
      const taken: number[] = [];
      const file = new File([bytes], "ä.bin", { type: "image/png" });
      const answer = await client.same({
        first: { content: file, onProgress: (count) => void sent.push(count) },
        second: new Blob(["short"]).stream(),
      });
      expect(got.map((each) => each.length)).toEqual([5_000_000, 5]);
      expect(got[0]?.equals(bytes)).toBe(true);
      const { first, second } = answer;
      expect([first?.length, first?.name, first?.type, second?.length]).toEqual([5_000_000, "ä.bin", "image/png", 5]);
      const onProgress = (count: number): void => void taken.push(count);
      expect((await readAll(first, { onProgress })).equals(bytes)).toBe(true);
      expect((await readAll(first)).equals(bytes)).toBe(true);
      expect((await readAll(second)).toString()).toBe("short");
      for (const each of [sent, taken]) {
        expect(each.at(-1)).toBe(5_000_000);
        expect(each).toEqual(each.toSorted((a, b) => a - b));
      }
      expect(await client.same({})).toEqual({});
    },
  );

  it("an upload goes on after each of its requests, or answers, was lost", async () => {
    // Requests grow where they are answered soon.
    const large = patterned(9_000_000);
    let requests = Infinity;
    for (let lost = 1; lost <= requests; lost++) {
      for (const answered of [false, true]) {
        let count = 0;
        const { handlers, got } = kept();
        const client = await served(kind, handlers, async (_verb, url, made) => {
          if (!url.includes("/first")) return made();
          if (++count !== lost) return made();
          if (answered) await (await made()).arrayBuffer();
          throw new TypeError("fetch failed");
        });
        const answer = await client.same({ first: new Blob([large]) });
        expect([lost, answered, got[0]?.equals(large)]).toEqual([lost, answered, true]);
        expect(answer.first?.length).toBe(9_000_000);
        requests = Math.min(requests, count - 2);
        await running?.close();
      }
    }
    expect(requests).toBeGreaterThanOrEqual(3);
  });

  it("a download goes on after its connection was lost, by a range", async () => {
    const { handlers } = kept();
    const ranges: (string | undefined)[] = [];
    const client = await served(kind, handlers, async (verb, url, made) => {
      const answer = await made();
      if (verb !== "GET" || !url.includes("/first/")) return answer;
      ranges.push(answer.headers.get("content-range") ?? undefined);
      if (ranges.length > 3 || answer.body === null) return answer;
      let left = 1_000_000;
      const reader = answer.body.getReader();
      const cut = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { value } = left > 0 ? await reader.read() : { value: undefined };
          if (value === undefined) {
            await reader.cancel();
            controller.error(new TypeError("terminated"));
            return;
          }
          controller.enqueue(value.subarray(0, left));
          left -= value.length;
        },
      });
      return new Response(cut, answer);
    });
    const { first } = await client.same({ first: new Blob([bytes]) });
    expect((await readAll(first)).equals(bytes)).toBe(true);
    expect(ranges.length).toBe(4);
    expect(ranges.slice(1).every((range) => range?.endsWith("-4999999/5000000") === true)).toBe(true);
  });

  it("a blob goes on after what its receiver has, where that is its beginning", async () => {
    const { handlers } = kept();
    const client = await served(kind, handlers);
    const { first } = await client.same({ first: new Blob([bytes]) });
    const after = async function* (of: Uint8Array): AsyncGenerator<Uint8Array> {
      yield of;
    };
    expect(
      (await readAll(first, { after: after(bytes.subarray(0, 1_234_567)) })).equals(bytes.subarray(1_234_567)),
    ).toBe(true);
    expect((await readAll(first, { after: after(bytes) })).length).toBe(0);
    for (const other of [bytes.subarray(1, 1000), bytes.toReversed()])
      await expect(readAll(first, { after: after(other) })).rejects.toMatchObject({ code: "failed_precondition" });
  });

  it("the same id goes on with an upload that another program has begun, with the same file only", async () => {
    const verbs: string[] = [];
    let failing = true;
    const { handlers, got } = kept();
    const client = await served(kind, handlers, async (verb, _url, made) => {
      verbs.push(verb);
      // As a page that is closed.
      if (failing && verb === "PATCH" && verbs.filter((each) => each === "PATCH").length === 2)
        return new Promise(() => {});
      return made();
    });
    const id = createBlobId();
    const stop = new AbortController();
    const call = client.same({ first: { content: new Blob([bytes]), id } }, { signal: stop.signal });
    await expect.poll(() => verbs.filter((each) => each === "PATCH").length, { interval: 5 }).toBe(2);
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    failing = false;
    const other = client.same({ first: { content: new Blob([bytes.toReversed()]), id } });
    await expect(other).rejects.toMatchObject({ code: "failed_precondition" });
    await client.same({ first: { content: new Blob([bytes]), id } });
    expect(got[0]?.equals(bytes)).toBe(true);
    expect(verbs).not.toContain("DELETE");
  });

  it("a digest is checked at both ends", async () => {
    const client = await served(kind, {});
    expect(await client.check({ file: new Blob([bytes]) })).toMatch(/^[0-9a-f]{32} 5000000$/);
    const { handlers } = kept();
    const corrupting = await served(kind, handlers, async (verb, url, made) => {
      const answer = await made();
      if (verb !== "GET" || !url.includes("/first/")) return answer;
      const altered = new Uint8Array(await answer.arrayBuffer());
      altered.fill(0, 4_000_000, 4_000_100);
      return new Response(altered, answer);
    });
    const { first } = await corrupting.same({ first: new Blob([bytes]) });
    await expect(readAll(first)).rejects.toMatchObject({ code: "data_loss" });
  });

  it("one that is too large is refused before its source is read, and a cancelled one is taken back", async () => {
    const verbs: string[] = [];
    let open = 0;
    const client = await served(kind, {}, async (verb, _url, made) => {
      verbs.push(verb);
      return made();
    });
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      open++;
      try {
        for (;;) yield new Uint8Array(100_000);
      } finally {
        open--;
      }
    };
    const large = client.put({ note: "", file: { content: endless, length: 1_000_001 } });
    await expect(large).rejects.toMatchObject({ code: "resource_exhausted" });
    expect([open, verbs]).toEqual([0, ["POST"]]);
    await expect(client.put({ note: "", file: endless() })).rejects.toMatchObject({ code: "resource_exhausted" });
    const stop = new AbortController();
    const stalling = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(3_000_000);
      stop.abort();
      await new Promise(() => {});
    };
    await expect(client.same({ second: stalling }, { signal: stop.signal })).rejects.toMatchObject({
      code: "cancelled",
    });
    await expect.poll(() => verbs.filter((verb) => verb === "DELETE").length, { interval: 5 }).toBe(2);
    expect(open).toBe(0);
  });

  it("a source that fails is its caller's error, and a handler's is the call's", async () => {
    const client = await served(kind, {
      same: async () => {
        throw new RpcError("not_found", "no such thing");
      },
    });
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10);
      throw new Error("the disk is gone");
    };
    await expect(client.same({ first: failing })).rejects.toThrow("the disk is gone");
    await expect(client.same({ first: new Blob(["a"]) })).rejects.toMatchObject({ code: "not_found" });
  });
});
