// Blobs of answers over HTTP: each has a URL, and ranges of it can be asked for.
import { createHash } from "node:crypto";
import type { BlobSource } from "@quicrpc/blobs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { patterned, type Running, serveBlobs, SERVERS } from "./blob-service.js";

let running: Running | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await running?.close();
});

const JSON_TYPE = { "content-type": "application/json" };
const bytes = patterned(300_000);

interface Named {
  readonly url: string;
  readonly length?: number;
  readonly type?: string;
  readonly name?: string;
}

/** The blob of an answer, as JSON has it. */
async function named({ ask }: Running, headers: Record<string, string> = {}): Promise<Named> {
  const answer = await ask("POST", "get", { ...JSON_TYPE, ...headers }, '"x"');
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
  return ((await answer.json()) as { file: Named }).file;
}

const isSame = async (answer: Response, of: Uint8Array): Promise<boolean> =>
  Buffer.from(await answer.arrayBuffer()).equals(of);

describe.each(SERVERS)("downloads: %s", (kind) => {
  const serve = async (file: () => BlobSource, options = {}): Promise<Running> => {
    running = await serveBlobs(kind, { get: () => ({ file: file() }) }, options);
    return running;
  };

  it("an answer names its blob by a URL with what is known of it, which GET reads as often as one likes", async () => {
    const server = await serve(() => new File([bytes], 'naïve "1".png', { type: "image/png" }));
    const { url, ...said } = await named(server);
    expect(said).toEqual({ length: 300_000, type: "image/png", name: 'naïve "1".png' });
    expect(url).toMatch(/^\/test\.v1\.HttpBlobs\/get\/file\/[0-9a-f]{32}$/);
    for (let read = 0; read < 2; read++) {
      const answer = await server.ask("GET", url);
      expect(answer.status).toBe(200);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "accept-ranges": "bytes",
        "cache-control": "no-store",
        "content-disposition": `attachment; filename="na_ve _1_.png"; filename*=UTF-8''na%C3%AFve%20%221%22.png`,
        "content-length": "300000",
        "content-security-policy": "sandbox; default-src 'none'",
        "content-type": "image/png",
        etag: `"${url.slice(-32)}"`,
        "x-content-type-options": "nosniff",
      });
      expect(await isSame(answer, bytes)).toBe(true);
    }
    const head = await server.ask("HEAD", url);
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "300000", ""]);
  });

  it("ranges of it are answered with 206, and what is no range with the whole", async () => {
    const server = await serve(() => new Blob([bytes]));
    const { url } = await named(server);
    const etag = `"${url.slice(-32)}"`;
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=1000-1999", 1000, 2000],
      ["bytes=299999-", 299_999, 300_000],
      ["bytes=-5", 299_995, 300_000],
      ["bytes=-999999", 0, 300_000],
      ["BYTES= 10-999999", 10, 300_000],
    ] as const) {
      const answer = await server.ask("GET", url, { range, "if-range": etag });
      expect([range, answer.status, answer.headers.get("content-range"), answer.headers.get("content-length")]).toEqual(
        [range, 206, `bytes ${start}-${end - 1}/300000`, String(end - start)],
      );
      expect(await isSame(answer, bytes.subarray(start, end))).toBe(true);
    }
    for (const range of ["bytes=300000-", "bytes=-0", "bytes=999999999999999-"]) {
      const answer = await server.ask("GET", url, { range });
      expect([range, answer.status, answer.headers.get("content-range")]).toEqual([range, 416, "bytes */300000"]);
    }
    for (const range of [
      "bytes=5-2",
      "bytes=0-1,5-6",
      "items=0-1",
      "bytes=a-b",
      "bytes=-",
      "bytes=1e3-",
      "bytes=9999999999999999-",
      "-1",
    ]) {
      const answer = await server.ask("GET", url, { range });
      expect([range, answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([range, 200, 300_000]);
    }
    const other = await server.ask("GET", url, { range: "bytes=1-2", "if-range": `"${"0".repeat(32)}"` });
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, 300_000]);
    expect((await server.ask("GET", url, { "if-match": '"x"' })).status).toBe(412);
    expect((await server.ask("GET", url, { "if-none-match": etag })).status).toBe(304);
  });

  it("the digest of the whole is told after a GET that asked for it", async () => {
    const server = await serve(() => new Blob([bytes]));
    const { url } = await named(server);
    expect((await server.ask("HEAD", url)).headers.has("repr-digest")).toBe(false);
    await (await server.ask("GET", url, { "want-repr-digest": "sha-256=1", range: "bytes=200000-" })).arrayBuffer();
    const digest = createHash("sha256").update(bytes).digest("base64");
    expect((await server.ask("HEAD", url)).headers.get("repr-digest")).toBe(`sha-256=:${digest}:`);
  });

  it("a stream is read once, without ranges", async () => {
    const server = await serve(() => new Blob([bytes]).stream());
    const { url, length } = await named(server);
    expect(length).toBeUndefined();
    const answer = await server.ask("GET", url, { range: "bytes=5-" });
    expect([answer.status, answer.headers.get("accept-ranges")]).toEqual([200, "none"]);
    expect(await isSame(answer, bytes)).toBe(true);
    const again = await server.ask("GET", url);
    expect([again.status, await again.json()]).toMatchObject([400, { code: "failed_precondition" }]);
  });

  it("one that is shorter or longer than was said, or fails, is cut off before its end", async () => {
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 100_000);
      throw new Error("secret of the disk");
    };
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 100_000);
      yield bytes.subarray(100_000, 200_000);
    };
    for (const file of [
      { content: failing, length: 200_000 },
      { content: failing },
      { content: pieces, length: 100_000 },
      { content: pieces, length: 200_001 },
    ]) {
      const server = await serve(() => file);
      const { url } = await named(server);
      const read = async (): Promise<number> => (await (await server.ask("GET", url)).arrayBuffer()).byteLength;
      await expect(read()).rejects.toMatchObject({ message: expect.any(String) });
      await server.close();
    }
    const server = await serve(() => ({
      content: () => {
        throw new Error("secret of the disk");
      },
    }));
    const answer = await server.ask("GET", (await named(server)).url);
    expect([answer.status, await answer.text()]).toEqual([409, expect.not.stringContaining("secret")]);
  });

  it("who stops reading stops the source", async () => {
    let given = 0;
    let left = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          given++;
          yield new Uint8Array(65_536);
        }
      } finally {
        left++;
      }
    };
    const server = await serve(() => ({ content: endless, length: 10_000_000_000 }));
    const { url } = await named(server);
    const reader = (await server.ask("GET", url)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect.poll(() => left, { interval: 5 }).toBe(1);
    expect(given).toBeLessThan(200);
  });

  it("a blob is its principal's, of one method, for a minute after its last request", async () => {
    const authenticate = ({ headers }: { headers: Headers }): string => headers.get("authorization") ?? "";
    const server = await serve(() => new Blob([bytes]), { authenticate });
    const mine = { authorization: "ann" };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const { url } = await named(server, mine);
    expect((await server.ask("GET", url, { authorization: "bob" })).status).toBe(404);
    expect((await server.ask("GET", url.replace("/get/", "/put/"), mine)).status).toBe(404);
    expect((await server.ask("GET", `${url.slice(0, -32)}${"0".repeat(32)}`, mine)).status).toBe(404);
    expect((await server.ask("GET", url.slice(0, -1), mine)).status).toBe(404);
    expect((await server.ask("PATCH", url, mine)).status).toBe(405);
    vi.advanceTimersByTime(59_000);
    expect((await server.ask("HEAD", url, mine)).status).toBe(200);
    vi.advanceTimersByTime(59_000);
    expect((await server.ask("HEAD", url, mine)).status).toBe(200);
    vi.advanceTimersByTime(61_000);
    expect((await server.ask("HEAD", url, mine)).status).toBe(404);
  });

  it("so many wait for a principal, and no more", async () => {
    const authenticate = ({ headers }: { headers: Headers }): string => headers.get("authorization") ?? "";
    const limits = { maxPrincipalBlobs: 3 };
    const server = await serve(() => new Blob([bytes]), { authenticate, limits });
    for (let call = 0; call < 3; call++) await named(server, { authorization: "ann" });
    const refused = await server.ask("POST", "get", { ...JSON_TYPE, authorization: "ann" }, '"x"');
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: "resource_exhausted" }]);
    await named(server, { authorization: "bob" });
  });
});
