// Blobs of inputs over HTTP: each is uploaded first, resumably, and the call names it.
import { connect } from "node:http2";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { DEFAULT_LIMITS, type Interceptor, Metadata, RpcError, ServerLoad } from "@quicrpc/core";
import { MemoryBudget } from "@quicrpc/core/internal";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { StoredUpload, UploadStore } from "@quicrpc/http";
import { MemoryUploads } from "../src/server/blobs/memory-uploads.js";
import { type BlobHandlers, MAX_BYTES, patterned, type Running, serveBlobs, SERVERS } from "./blob-service.js";

let running: Running | undefined;
/** Bodies that are given by hand: one that does not end keeps its connection open. */
const given: ReadableStreamDefaultController<Uint8Array>[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const controller of given.splice(0)) {
    // One that was cancelled, or ended, takes no more.
    if (controller.desiredSize !== null) controller.error(new Error("the test is over"));
  }
  await running?.close();
  // oxlint-disable-next-line vitest/no-standalone-expect -- of each test
  expect(running?.errors ?? []).toEqual([]);
  running = undefined;
});

const JSON_TYPE = { "content-type": "application/json" };
const PARTIAL = { "content-type": "application/partial-upload" };
const bytes = patterned(300_000);
const byName = ({ headers }: { headers: Headers }): string => headers.get("authorization") ?? "";

/** A body that is given by hand. */
function byHand(): { body: ReadableStream<Uint8Array>; controller: ReadableStreamDefaultController<Uint8Array> } {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) });
  given.push(controller);
  return { body, controller };
}

/** A store of one upload. `written` fulfils when bytes of it are there. */
function storeOfOne(): { store: UploadStore; written: Promise<void> } {
  let tellWritten!: () => void;
  const written = new Promise<void>((resolve) => (tellWritten = resolve));
  let size = 0;
  const store: UploadStore = {
    create: async (_, info) => ({
      info,
      size: async () => size,
      async write(piece, at) {
        size = at + piece.length;
        tellWritten();
      },
      sync: async () => {},
      async *read() {},
      remove: async () => {},
      note: async () => {},
    }),
    find: async () => undefined,
  };
  return { store, written };
}

/** What an answer says of an upload. */
const progressOf = ({ status, headers }: Response): unknown => ({
  status,
  complete: headers.get("upload-complete"),
  offset: headers.get("upload-offset"),
});

const incomplete = { "upload-complete": "?0" };

/** Begins an upload that is not complete. Returns its URL. */
async function begun(
  { ask }: Running,
  body: Uint8Array<ArrayBuffer> = new Uint8Array(0),
  headers: Record<string, string> = {},
): Promise<string> {
  const answer = await ask("POST", "put/file", { ...incomplete, ...headers }, body);
  expect(progressOf(answer)).toEqual({ status: 201, complete: "?0", offset: String(body.length) });
  return answer.headers.get("location") ?? "";
}

const call = ({ ask }: Running, url: string, headers: Record<string, string> = {}): Promise<Response> =>
  ask("POST", "put", { ...JSON_TYPE, ...headers }, JSON.stringify({ note: "n", file: { url } }));

const patch = (
  { ask }: Running,
  url: string,
  offset: number,
  complete: boolean,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Response> => {
  const said = { "upload-offset": String(offset), "upload-complete": complete ? "?1" : "?0" };
  return ask("PATCH", url, { ...PARTIAL, ...said, ...headers }, body);
};

describe.each(SERVERS)("uploads: %s", (kind) => {
  const serve = async (
    handlers: Partial<BlobHandlers> = {},
    options: Parameters<typeof serveBlobs>[2] = {},
  ): Promise<Running> => {
    const server = await serveBlobs(kind, handlers, options);
    running = server;
    // Answers are read: a request that nobody reads the answer of stays open.
    const ask: Running["ask"] = async (...request) => {
      const answer = await server.ask(...request);
      const { status, headers } = answer;
      const body = await answer.arrayBuffer();
      return new Response(body.byteLength === 0 ? null : body, { status, headers });
    };
    return { ...server, ask };
  };

  it("one request uploads, the next calls, and the upload is gone", async () => {
    const got: Buffer[] = [];
    const server = await serve({
      async put({ note, file }) {
        got.push(Buffer.from(await file.bytes()));
        return `${note}: ${file.name}, ${file.type}, ${file.length}`;
      },
    });
    const said = { "content-type": "image/png", "content-disposition": `attachment; filename*=UTF-8''na%C3%AFve.png` };
    const answer = await server.ask("POST", "put/file", said, bytes);
    expect(progressOf(answer)).toEqual({ status: 201, complete: "?1", offset: "300000" });
    expect(answer.headers.get("upload-limit")).toBe("max-size=1000000, max-age=3600");
    const blob = (await answer.json()) as { url: string };
    expect(blob.url).toBe(answer.headers.get("location"));
    const called = await server.ask("POST", "put", JSON_TYPE, JSON.stringify({ note: "n", file: blob }));
    expect([called.status, await called.json()]).toEqual([200, "n: naïve.png, image/png, 300000"]);
    expect(got[0]?.equals(bytes)).toBe(true);
    expect((await server.ask("HEAD", blob.url)).status).toBe(404);
    expect((await call(server, blob.url)).status).toBe(404);
  });

  it("an upload goes on where it was, until its sender says that it is complete", async () => {
    const server = await serve();
    const url = await begun(server, bytes.slice(0, 1000), { "upload-length": "300000" });
    const early = await call(server, url);
    expect([early.status, await early.json()]).toMatchObject([400, { code: "failed_precondition" }]);
    const head = await server.ask("HEAD", url);
    expect(progressOf(head)).toEqual({ status: 204, complete: "?0", offset: "1000" });
    expect(head.headers.get("upload-length")).toBe("300000");
    expect(head.headers.get("cache-control")).toBe("no-store");
    const more = await patch(server, url, 1000, false, bytes.slice(1000));
    expect(progressOf(more)).toEqual({ status: 204, complete: "?0", offset: "300000" });
    expect((await call(server, url)).status).toBe(400);
    const last = await patch(server, url, 300_000, true, new Uint8Array(0));
    expect(progressOf(last)).toEqual({ status: 204, complete: "?1", offset: "300000" });
    expect(await (await call(server, url)).json()).toBe("n: , , 300000");
  });

  it("another offset, an upload that is complete, and lengths that differ are problems with types of their own", async () => {
    const server = await serve();
    const type = (name: string): string => `https://iana.org/assignments/http-problem-types#${name}`;
    const url = await begun(server, bytes.slice(0, 1000));
    for (const offset of [0, 999, 1001, 300_000]) {
      const answer = await patch(server, url, offset, true, bytes.slice(0, 10));
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect([answer.status, await answer.json()]).toMatchObject([
        409,
        { type: type("mismatching-upload-offset"), "expected-offset": 1000, "provided-offset": offset },
      ]);
    }
    const differing = await patch(server, url, 1000, true, bytes.slice(0, 10), { "upload-length": "2000" });
    expect([differing.status, await differing.json()]).toMatchObject([
      400,
      { type: type("inconsistent-upload-length") },
    ]);
    expect(progressOf(await server.ask("HEAD", url))).toMatchObject({ complete: "?0", offset: "1000" });
    expect((await patch(server, url, 1000, true, new Uint8Array(0))).status).toBe(204);
    const late = await patch(server, url, 1000, true, bytes.slice(0, 10));
    expect([late.status, await late.json()]).toMatchObject([400, { type: type("completed-upload") }]);
    expect(await (await call(server, url)).json()).toBe("n: , , 1000");
  });

  it("requests that say nonsense are refused, and change nothing", async () => {
    const server = await serve();
    const url = await begun(server, bytes.slice(0, 10));
    for (const offset of ["-1", "1e3", "", "9999999999999999", "10, 10"])
      expect([offset, (await server.ask("PATCH", url, { ...PARTIAL, "upload-offset": offset }, bytes)).status]).toEqual(
        [offset, 400],
      );
    expect((await server.ask("PATCH", url, PARTIAL, bytes)).status).toBe(400);
    const typed = await server.ask("PATCH", url, { "content-type": "text/plain", "upload-offset": "10" }, bytes);
    expect([typed.status, typed.headers.get("accept-patch")]).toEqual([415, "application/partial-upload"]);
    expect((await server.ask("POST", "put/file", { "upload-complete": "yes" }, bytes)).status).toBe(400);
    expect((await server.ask("POST", "put/file", { "upload-length": "many" }, bytes)).status).toBe(400);
    expect((await server.ask("POST", "put/file", { "upload-length": "5" }, bytes)).status).toBe(400);
    for (const [verb, path, allow] of [
      ["GET", "put/file", "OPTIONS, POST"],
      ["PUT", url, "OPTIONS, POST, GET, HEAD, PATCH, DELETE"],
      ["POST", "get/file", ""],
    ] as const) {
      const answer = await server.ask(verb, path);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    }
    for (const file of [{ url: "x" }, { url: 5 }, "x", null, [0, 5, "", ""], { url: `/${"a".repeat(31)}` }]) {
      const answer = await server.ask("POST", "put", JSON_TYPE, JSON.stringify({ note: "n", file }));
      expect([file, answer.status, await answer.json()]).toMatchObject([file, 400, { code: "invalid_argument" }]);
    }
    for (const body of ["{", "[]", "null", "5", "{}"])
      expect([body, (await server.ask("POST", "put", JSON_TYPE, body)).status]).toEqual([body, 400]);
    expect(progressOf(await server.ask("HEAD", url))).toMatchObject({ complete: "?0", offset: "10" });
  });

  it("one that is too large is refused before a byte of it is read, and one that gets too large as soon as it is", async () => {
    const server = await serve();
    let pulled = 0;
    const large = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (++pulled > 100) controller.close();
          else controller.enqueue(new Uint8Array(65_536));
        },
      },
      { highWaterMark: 0 },
    );
    const said = await server.ask("POST", "put/file", { ...incomplete, "upload-length": String(MAX_BYTES + 1) });
    expect([said.status, await said.json()]).toMatchObject([413, { code: "resource_exhausted" }]);
    const url = await begun(server, bytes.slice(0, 10));
    const beyond = await patch(server, url, 10, false, new Uint8Array(MAX_BYTES));
    expect(beyond.status).toBe(413);
    expect(progressOf(await server.ask("HEAD", url))).toMatchObject({ offset: "10" });
    // The answer may overtake the rest of the request, or its end.
    await patch(server, url, 10, false, large).then(
      (answer) => expect(answer.status).toBe(413),
      () => {},
    );
    await expect
      .poll(async () => (await server.ask("HEAD", url)).headers.get("upload-offset"), { interval: 5 })
      .not.toBe("10");
    const kept = Number((await server.ask("HEAD", url)).headers.get("upload-offset"));
    expect(kept).toBeGreaterThan(MAX_BYTES - 300_000);
    expect(kept).toBeLessThanOrEqual(MAX_BYTES);
  });

  it("what had arrived when a connection was lost is kept, and the offset says how much", async () => {
    const server = await serve();
    const url = await begun(server);
    const { body, controller } = byHand();
    const lost = patch(server, url, 0, true, body);
    controller.enqueue(bytes.slice(0, 200_000));
    await expect.poll(async () => stored(server, url), { interval: 5 }).toBeGreaterThan(0);
    controller.error(new Error("the network is gone"));
    await lost.then((answer) => expect(answer.status).not.toBe(204)).catch(() => {});
    const at = Number((await server.ask("HEAD", url)).headers.get("upload-offset"));
    expect(at).toBeLessThanOrEqual(200_000);
    expect((await patch(server, url, at, true, bytes.slice(at))).status).toBe(204);
    expect(await (await call(server, url)).json()).toBe("n: , , 300000");
  });

  /** Bytes that a HEAD tells, of an attempt that it ends. */
  const stored = async (server: Running, url: string): Promise<number> =>
    Number((await server.ask("HEAD", url)).headers.get("upload-offset")) || 1;

  it("a new attempt ends the one before it, and only then is the offset told", async () => {
    const server = await serve();
    const url = await begun(server);
    const { body, controller } = byHand();
    const first = patch(server, url, 0, false, body).then(
      ({ status }) => status,
      () => "ended",
    );
    controller.enqueue(bytes.slice(0, 1000));
    // The first of these may come before its bytes have.
    let at = 0;
    for (let tries = 0; tries < 200 && at === 0; tries++) {
      at = Number((await server.ask("HEAD", url)).headers.get("upload-offset"));
      if (at === 0 && tries > 0) break;
    }
    expect([409, "ended"]).toContain(await first);
    const end = Number((await server.ask("HEAD", url)).headers.get("upload-offset"));
    expect(end).toBe(at);
    expect((await patch(server, url, at, true, bytes.slice(at))).status).toBe(204);
    expect(await (await call(server, url)).json()).toBe("n: , , 300000");
  });

  it("a sender that stalls is cut off, and its upload stays", async () => {
    const { store, written } = storeOfOne();
    const server = await serve({}, { maxBodyMs: 20, uploads: store });
    // What the first bytes take of a busy machine's time counts for nothing.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const url = await begun(server);
    const { body, controller } = byHand();
    controller.enqueue(bytes.slice(0, 10));
    const answer = patch(server, url, 0, true, body).catch(() => undefined);
    await written;
    // By then the server waits for the next ones.
    await new Promise(setImmediate);
    vi.advanceTimersByTime(20);
    const stalled = await answer;
    if (stalled !== undefined)
      expect([stalled.status, await stalled.json()]).toMatchObject([504, { code: "deadline_exceeded" }]);
    expect(progressOf(await server.ask("HEAD", url))).toEqual({ status: 204, complete: "?0", offset: "10" });
  });

  it("DELETE ends an upload, and what is on its way", async () => {
    const server = await serve();
    const url = await begun(server);
    const { body, controller } = byHand();
    const first = patch(server, url, 0, false, body).then(
      ({ status }) => status,
      () => "ended",
    );
    controller.enqueue(bytes.slice(0, 1000));
    expect((await server.ask("DELETE", url)).status).toBe(204);
    for (const verb of ["HEAD", "DELETE"]) expect((await server.ask(verb, url)).status).toBe(404);
    expect([404, 409, 499, "ended"]).toContain(await first);
  });

  it("an upload is its principal's, of one field, until it has waited for its time", async () => {
    const server = await serve({}, { authenticate: byName, maxUploadAgeMs: 5000 });
    const [ann, bob] = [{ authorization: "ann" }, { authorization: "bob" }];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const answer = await server.ask("POST", "put/file", ann, bytes);
    const url = answer.headers.get("location") ?? "";
    expect(answer.headers.get("upload-limit")).toBe("max-size=1000000, max-age=5");
    for (const verb of ["HEAD", "DELETE"]) expect((await server.ask(verb, url, bob)).status).toBe(404);
    expect((await patch(server, url, 0, true, bytes, bob)).status).toBe(404);
    expect((await call(server, url, bob)).status).toBe(404);
    expect((await server.ask("HEAD", url.replace("/put/", "/check/"), ann)).status).toBe(404);
    vi.advanceTimersByTime(4000);
    expect((await server.ask("HEAD", url, ann)).status).toBe(204);
    vi.advanceTimersByTime(5001);
    expect((await server.ask("HEAD", url, ann)).status).toBe(404);
  });

  it("so many uploads, and bytes of them, wait for a principal, and no more; what is over counts no more", async () => {
    const limits = { maxPrincipalBlobs: 3, maxPrincipalBlobBytes: 2_000_000 };
    const server = await serve({}, { authenticate: byName, limits });
    const [ann, bob] = [{ authorization: "ann" }, { authorization: "bob" }];
    // Of unknown length: as large as they may be.
    const unknown = [await begun(server, undefined, ann), await begun(server, undefined, ann)];
    const refused = await server.ask("POST", "put/file", { ...ann, ...incomplete, "upload-length": "1" });
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { message: expect.stringContaining("maxPrincipalBlobBytes") },
    ]);
    await begun(server, undefined, bob);
    for (const url of unknown) await server.ask("DELETE", url, ann);
    const urls: string[] = [];
    for (let i = 0; i < 3; i++) {
      urls.push((await server.ask("POST", "put/file", ann, bytes.slice(0, 10))).headers.get("location") ?? "");
    }
    const many = await server.ask("POST", "put/file", ann, bytes.slice(0, 10));
    expect([many.status, await many.json()]).toMatchObject([
      429,
      { message: expect.stringContaining("maxPrincipalBlobs") },
    ]);
    expect((await call(server, urls[0] ?? "", ann)).status).toBe(200);
    expect((await server.ask("POST", "put/file", ann, bytes.slice(0, 10))).status).toBe(201);
  });

  it("who may not call may not upload, and nothing is kept", async () => {
    const load = new ServerLoad();
    const authenticate = (): never => {
      throw new RpcError("unauthenticated", "who are you?");
    };
    const server = await serve({}, { authenticate, load });
    for (const [verb, path] of [
      ["POST", "put/file"],
      ["HEAD", `put/file/${"0".repeat(32)}`],
      ["GET", `get/file/${"0".repeat(32)}`],
    ] as const)
      expect((await server.ask(verb, path, {}, verb === "POST" ? bytes : undefined)).status).toBe(401);
    await expect.poll(() => load.held, { interval: 5 }).toBe(0);
  });

  it("interceptors decide about an upload as about its call, before any of it is kept", async () => {
    const load = new ServerLoad();
    const told: string[] = [];
    const annOnly: Interceptor = async (call, next) => {
      const who = call.metadata.get("authorization");
      told.push(`${who} ${call.method.name} ${call.input === undefined ? "upload" : "call"}`);
      if (who !== "ann") throw new RpcError("permission_denied", "ann only");
      return next(call);
    };
    const server = await serve({}, { load, interceptors: [annOnly] });
    const [ann, bob] = [{ authorization: "ann" }, { authorization: "bob" }];
    expect((await server.ask("POST", "put/file", bob, bytes)).status).toBe(403);
    await expect.poll(() => load.held, { interval: 5 }).toBe(0);
    const url = await begun(server, bytes.slice(0, 10), ann);
    const statuses = [
      await patch(server, url, 10, true, bytes.slice(10), bob),
      await server.ask("HEAD", url, bob),
      await server.ask("DELETE", url, bob),
      await server.ask("OPTIONS", "put/file", bob),
      await patch(server, url, 10, true, bytes.slice(10), ann),
      await call(server, url, bob),
      await call(server, url, ann),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 204, 204, 403, 200]);
    expect(told.slice(-3)).toEqual(["ann put upload", "bob put call", "ann put call"]);
  });

  it("an interceptor that fails, or that answers itself, lets no upload through", async () => {
    const answering: Interceptor = async () => ({
      responseMetadata: new Metadata(),
      trailers: new Metadata(),
      output: "no",
      outputs: undefined,
    });
    const quiet = await serve({}, { interceptors: [answering] });
    expect((await quiet.ask("POST", "put/file", {}, bytes)).status).toBe(403);
    await quiet.close();
    const errors: unknown[] = [];
    const failing: Interceptor = () => {
      throw new Error("a secret");
    };
    const broken = await serve({}, { interceptors: [failing], onError: (error) => void errors.push(error) });
    const answer = await broken.ask("POST", "put/file", {}, bytes);
    expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining("secret")]);
    expect(errors.map(String)).toEqual(["Error: a secret"]);
  });

  it("what uploads hold in memory counts, and the largest is removed where the server has no more room", async () => {
    const load = new ServerLoad({ maxServerBytes: 2_000_000, maxSessionBytes: 600_000 });
    const limits = {
      maxFrameBytes: 50_000,
      maxDecompressedBytes: 50_000,
      maxSessionBytes: 600_000,
      maxServerBytes: 2_000_000,
    };
    const server = await serve({}, { load, limits });
    const large = await server.ask("POST", "put/file", {}, patterned(500_000));
    expect([large.status, large.headers.get("upload-limit")]).toEqual([201, "max-size=600000, max-age=3600"]);
    expect((await server.ask("POST", "put/file", {}, patterned(600_001))).status).toBe(413);
    const urls: string[] = [];
    for (let i = 0; i < 4; i++) urls.push(await begun(server, patterned(400_000)));
    expect(load.held).toBeLessThanOrEqual(2_000_000);
    expect((await server.ask("HEAD", large.headers.get("location") ?? "")).status).toBe(404);
    for (const url of urls) await server.ask("DELETE", url);
    await expect.poll(() => load.held, { interval: 5 }).toBe(0);
  });

  it("a call that failed may be made again with the same upload", async () => {
    let fails = true;
    const server = await serve({
      async put({ file }) {
        const length = (await file.bytes()).length;
        if (fails) throw new RpcError("unavailable", "not yet");
        return String(length);
      },
    });
    const url = (await server.ask("POST", "put/file", {}, bytes)).headers.get("location") ?? "";
    expect((await call(server, url)).status).toBe(503);
    fails = false;
    expect(await (await call(server, url)).json()).toBe("300000");
  });

  it("a field with a digest takes uploads that say theirs, and only those bytes", async () => {
    const server = await serve();
    const digest = (of: Uint8Array): string => `sha-256=:${createHash("sha256").update(of).digest("base64")}:`;
    const upload = async (headers: Record<string, string>): Promise<Response> => {
      const answer = await server.ask("POST", "check/file", headers, bytes);
      const url = answer.headers.get("location");
      return server.ask("POST", "check", JSON_TYPE, JSON.stringify({ file: { url } }));
    };
    expect(await (await upload({ "repr-digest": digest(bytes) })).json()).toMatch(/^[0-9a-f]{32} 300000$/);
    const none = await upload({});
    expect([none.status, await none.json()]).toMatchObject([400, { code: "failed_precondition" }]);
    const other = await upload({ "repr-digest": digest(bytes.subarray(1)) });
    expect([other.status, await other.json()]).toMatchObject([500, { code: "data_loss" }]);
  });

  it("of requests that begin an upload with one id at the same time one does, and nothing is left of the others", async () => {
    const load = new ServerLoad();
    let come = 0;
    let letIn!: () => void;
    const allHaveCome = new Promise<void>((resolve) => (letIn = resolve));
    // As where requests wait for one look-up of keys.
    const authenticate = async (): Promise<string> => {
      if (++come === 8) letIn();
      await allHaveCome;
      return "ann";
    };
    const limits = { maxPrincipalBlobs: 8 };
    const server = await serve({}, { authenticate, load, limits });
    const url = `put/file/${"5".repeat(32)}`;
    const begin = (): Promise<Response> => server.ask("POST", url, incomplete, new Uint8Array(0));
    const answers = await Promise.all(Array.from({ length: 8 }, begin));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    const deleted = await Promise.all(Array.from({ length: 8 }, () => server.ask("DELETE", url)));
    for (const { status } of deleted) expect([204, 404]).toContain(status);
    await expect.poll(() => load.held, { interval: 5 }).toBe(0);
    // All places are free again.
    for (let n = 0; n < 8; n++) expect((await server.ask("POST", "put/file", incomplete)).status).toBe(201);
  });

  it("the client names an upload as it likes, once", async () => {
    const server = await serve();
    const id = "0123456789abcdef0123456789abcdef";
    const made = await server.ask("POST", `put/file/${id}`, incomplete, bytes.slice(0, 10));
    expect([made.status, made.headers.get("location")]).toEqual([201, `/test.v1.HttpBlobs/put/file/${id}`]);
    const again = await server.ask("POST", `put/file/${id}`, incomplete, bytes);
    expect([again.status, await again.json()]).toMatchObject([409, { code: "already_exists" }]);
    const head = await server.ask("HEAD", `put/file/${id}`, { "quicrpc-begins-with": "?" });
    expect(progressOf(head)).toMatchObject({ offset: "10" });
    expect(head.headers.get("quicrpc-begins-with")).toBe(createHash("sha256").update(bytes.slice(0, 10)).digest("hex"));
    const options = await server.ask("OPTIONS", "put/file");
    expect([options.status, options.headers.get("upload-limit")]).toEqual([204, "max-size=1000000, max-age=3600"]);
  });
});

it.each(["HTTP/2", "HTTP/2 by streams"] as const)(
  "over %s the URL of an upload comes before its answer (104)",
  async (kind) => {
    running = await serveBlobs(kind);
    const session = connect(new URL(running.url).origin);
    const stream = session.request({ ":method": "POST", ":path": "/test.v1.HttpBlobs/put/file" });
    stream.write("abc");
    const [head] = (await once(stream, "headers")) as [Record<string, unknown>];
    expect(head).toMatchObject({ ":status": 104, location: expect.stringContaining("/put/file/") });
    stream.end("def");
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(answer).toMatchObject({ ":status": 201, location: head["location"], "upload-offset": "6" });
    stream.resume();
    await once(stream, "close");
    session.close();
  },
);

it("the offset that is told is the durable one: of what a store could not keep nothing is told", async () => {
  let synced = 0;
  const kept: StoredUpload & { info: StoredUpload["info"] } = {
    info: { field: "", principal: "", type: "", name: "", isComplete: false },
    size: async () => synced,
    write: async (_, at) => {
      if (at >= 1000) throw new RpcError("resource_exhausted", "the disk is full");
    },
    sync: async () => void (synced = 1000),
    note: async () => {},
    async *read() {},
    remove: async () => {},
  };
  const store: UploadStore = {
    create: async (_, info) => Object.assign(kept, { info }),
    find: async () => undefined,
  };
  running = await serveBlobs("fetch", {}, { uploads: store });
  const { body, controller } = byHand();
  const answer = running.ask("POST", "put/file/0123456789abcdef0123456789abcdef", incomplete, body);
  controller.enqueue(bytes.slice(0, 1000));
  controller.enqueue(bytes.slice(1000, 2000));
  controller.close();
  expect((await answer).status).toBe(429);
  expect(progressOf(await running.ask("HEAD", "put/file/0123456789abcdef0123456789abcdef"))).toMatchObject({
    offset: "1000",
  });
});

it("however many requests ask for the digest of an upload, its bytes are read once", async () => {
  const { store } = storeOfOne();
  let reads = 0;
  const counted: UploadStore = {
    ...store,
    create: async (...given) => ({
      ...(await store.create(...given)),
      async *read() {
        reads++;
        yield bytes.slice(0, 1000);
      },
    }),
  };
  running = await serveBlobs("fetch", {}, { uploads: counted });
  const { ask } = running;
  const url = await begun(running, bytes.slice(0, 1000));
  const head = (): Promise<Response> => ask("HEAD", url, { "quicrpc-begins-with": "?" });
  const digest = createHash("sha256").update(bytes.slice(0, 1000)).digest("hex");
  for (const { headers } of await Promise.all([head(), head(), head()]))
    expect(headers.get("quicrpc-begins-with")).toBe(digest);
  expect((await head()).headers.get("quicrpc-begins-with")).toBe(digest);
  expect(reads).toBe(1);
});

it("many small uploads of one client make room for others, and for none of its own", async () => {
  const limits = { maxServerBytes: 2_000_000, maxSessionBytes: 600_000 };
  const load = new ServerLoad(limits);
  const store = new MemoryUploads(load, { ...DEFAULT_LIMITS, ...limits });
  const info = { field: "", principal: "", type: "", name: "", isComplete: false };
  const removed: string[] = [];
  const kept = async (id: string, owner: string, bytes: number): Promise<void> => {
    const upload = await store.create(id, info, () => removed.push(id), owner);
    await upload.write(new Uint8Array(bytes), 0);
  };
  await kept("other", "b", 100_000);
  for (let i = 0; i < 18; i++) await kept(`a${i}`, "a", 100_000);
  await expect(kept("one more", "a", 100_000)).rejects.toMatchObject({ code: "resource_exhausted" });
  expect(removed).toEqual([]);
  await kept("large", "c", 500_000);
  expect(removed.length).toBeGreaterThan(2);
  expect(removed.every((id) => id.startsWith("a"))).toBe(true);
  expect(load.held).toBeLessThanOrEqual(limits.maxServerBytes);
  // A request, which waits for nobody.
  const request = new MemoryBudget(600_000, "limits.maxSessionBytes", load);
  expect(request.charge(500_000)).toBe(true);
});

it("a store in memory has one upload of an id", async () => {
  const load = new ServerLoad();
  const store = new MemoryUploads(load, DEFAULT_LIMITS);
  const info = { field: "", principal: "", type: "", name: "", isComplete: false };
  const upload = await store.create("1", info, () => {}, "");
  await expect(store.create("1", info, () => {}, "")).rejects.toMatchObject({ code: "already_exists" });
  await upload.remove();
  expect(load.held).toBe(0);
});

it("an upload that is removed while its info is noted is removed when it is, and found by nobody meanwhile", async () => {
  const { store } = storeOfOne();
  const steps: string[] = [];
  let beginNote!: () => void;
  const noting = new Promise<void>((resolve) => (beginNote = resolve));
  let endNote!: () => void;
  const noted = new Promise<void>((resolve) => (endNote = resolve));
  let kept: StoredUpload | undefined;
  const watched: UploadStore = {
    find: async () => kept,
    create: async (...given) =>
      (kept = {
        ...(await store.create(...given)),
        async note() {
          beginNote();
          await noted;
          steps.push("noted");
        },
        remove: async () => {
          kept = undefined;
          steps.push("removed");
        },
      }),
  };
  running = await serveBlobs("fetch", {}, { uploads: watched });
  const { ask } = running;
  const url = `put/file/${"6".repeat(32)}`;
  const whole = ask("POST", url, {}, bytes.slice(0, 10));
  await noting;
  const deleted = ask("DELETE", url);
  // By then it waits for what is noted.
  await new Promise(setImmediate);
  expect((await ask("HEAD", url)).status).toBe(404);
  expect((await ask("DELETE", url)).status).toBe(404);
  expect((await ask("POST", url)).status).toBe(409);
  endNote();
  expect([(await whole).status, (await deleted).status]).toEqual([201, 204]);
  expect(steps).toEqual(["noted", "removed"]);
});

it("an offset that another request has gone on from meanwhile is not told", async () => {
  const { store } = storeOfOne();
  let beginSize!: () => void;
  let asked = 0;
  const sizing = new Promise<void>((resolve) => (beginSize = resolve));
  let endSize!: () => void;
  const held = new Promise<void>((resolve) => (endSize = resolve));
  const slow: UploadStore = {
    ...store,
    async create(...given) {
      const stored = await store.create(...given);
      const size = async (): Promise<number> => {
        const at = await stored.size();
        if (++asked === 1) {
          beginSize();
          await held;
        }
        return at;
      };
      return { ...stored, size };
    },
  };
  running = await serveBlobs("fetch", {}, { uploads: slow });
  const url = await begun(running, bytes.slice(0, 10));
  const slower = patch(running, url, 10, false, bytes.slice(10, 20));
  await sizing;
  expect((await patch(running, url, 10, false, bytes.slice(10, 30))).status).toBe(204);
  endSize();
  const late = await slower;
  expect([late.status, await late.json()]).toMatchObject([409, { "expected-offset": 30 }]);
});
