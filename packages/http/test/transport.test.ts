// The client against the server: over HTTP/1.1 and HTTP/2, and in this process, in MessagePack and in JSON.
import { isRpcErrorOf, type Metadata, RpcError } from "@quicrpc/core";
import { gzip, http2Fetch, type HttpOptions, type HttpTransport, httpTransport, plainJson } from "@quicrpc/http";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { meanwhile, pass, startVirtualTime } from "../../core/test/virtual-time.js";
import { heap } from "../../../test/behaviour/heap.js";
import { createHttpClient, type HttpClient, httpMethods } from "./generated/http.js";
import { type Http2Way, type Running, serveHttp } from "./service.js";

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

async function failure(promise: Promise<unknown>): Promise<RpcError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RpcError);
  return error as RpcError;
}

const http2 = http2Fetch(connect);
const compression = { algorithms: [gzip], minBytes: 100 };

describe.each([
  ["HTTP/1.1", "node:http", {}],
  ["HTTP/1.1, GET requests", "node:http", { get: true }],
  ["HTTP/1.1, JSON", "node:http", { codec: plainJson }],
  ["HTTP/2", "requests", { fetch: http2 }],
  ["HTTP/2 by streams", "streams", { fetch: http2 }],
  ["HTTP/2 by streams, JSON, gzip", "streams", { fetch: http2, codec: plainJson, compression }],
  ["fetch handler", undefined, {}],
] as [string, Http2Way | "node:http" | undefined, HttpOptions][])("over %s", (_, way, options) => {
  let server: Running;
  let client: HttpClient;
  let transport: HttpTransport;
  beforeEach(async () => {
    server = await serveHttp({}, way === "node:http" ? undefined : way);
    const inProcess: HttpOptions = {
      fetch: async (url, init) => server.handler(new Request(url, init)),
    };
    transport = httpTransport({ ...(way === undefined && inProcess), ...options });
    client = createHttpClient(transport.caller(`http://127.0.0.1:${server.port}`));
  });
  afterEach(async () => {
    http2.close();
    await server.close();
  });

  it("calls of every kind are answered", async () => {
    expect(await client.echo({ text: "größe" })).toEqual({ text: "größe" });
    expect(await client.change({ text: "x".repeat(100_000) })).toEqual({ text: "x".repeat(100_000) });
    expect(await client.nothing()).toBeUndefined();
    const kinds = { at: new Date(5), data: Uint8Array.of(1, 2), big: 2n ** 63n };
    const answer = await client.kinds(kinds);
    expect({ ...answer, data: [...answer.data] }).toEqual({ ...kinds, data: [1, 2] });
    const items: number[] = [];
    for await (const { i } of client.items({ n: 100, size: 1000 })) items.push(i);
    expect(items).toEqual(range(100));
    expect(await client.sum(range(1000))).toBe(499_500);
    expect(await client.upload([Uint8Array.of(1, 2, 3)])).toBe(3);
    await client.note({ text: "a" });
    await server.until(({ notes }) => notes.includes("a"));
  });

  it("what was sent of a long stream of bytes is held no longer", async () => {
    const before = heap();
    let held = 0;
    async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      for (let i = 0; i < 256; i++) yield new Uint8Array(65_536);
      held = heap() - before;
    }
    expect(await client.upload(pieces())).toBe(256 * 65_536);
    expect(held).toBeLessThan(4 * 1024 * 1024);
  });

  it("a ping is answered by a server of this library, while it takes calls, and by nothing else", async () => {
    const caller = transport.caller(`http://127.0.0.1:${server.port}`);
    expect(await caller.ping?.()).toBeGreaterThan(0);
    const elsewhere = transport.caller(`http://127.0.0.1:${server.port}/elsewhere`);
    await expect(elsewhere.ping?.()).rejects.toMatchObject({ code: "unimplemented" });
    await server.handler.drain();
    await expect(caller.ping?.()).rejects.toMatchObject({ code: "unavailable", refused: true });
    const pinging = caller.ping?.();
    caller.close();
    await expect(pinging).rejects.toMatchObject({ code: "unavailable" });
  });

  it("a stream whose items have cursors goes on after each break, and from where its caller says", async () => {
    const stream = client.follow({ upTo: 5, breakAfter: 2 });
    const items: number[] = [];
    for await (const { i } of stream) items.push(i);
    expect(items).toEqual([1, 2, 3, 4, 5]);
    expect(stream.cursor).toBe("5");
    const rest = client.follow({ upTo: 5 }, { from: "3" });
    expect((await rest.values().next()).value).toEqual({ i: 4 });
    const error = await failure(client.items({ n: 1 }, { from: "3" }).values().next());
    expect(error).toMatchObject({ code: "unimplemented" });
  });

  it("a duplex call has items both ways at once", async () => {
    const { readable, writable } = client.chat();
    const writer = writable.getWriter();
    const items = readable[Symbol.asyncIterator]();
    for (const text of ["a", "b", "c"]) {
      await writer.write(text);
      expect(await items.next()).toEqual({ done: false, value: text.toUpperCase() });
    }
    await writer.close();
    expect((await items.next()).done).toBe(true);
  });

  it("declared errors, others and lost handlers are told", async () => {
    const declared = await failure(client.fail());
    expect(declared).toMatchObject({ reason: "EMPTY", message: "none left", details: { left: 3, at: new Date(0) } });
    expect(isRpcErrorOf(httpMethods.fail, declared)).toBe(true);
    const crashed = await failure(client.crash());
    expect(crashed.message).not.toContain("secret");
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { i } of client.items({ n: 3, failAfter: true })) seen.push(i);
    })();
    expect(await failure(reading)).toMatchObject({ code: "data_loss", message: "the rest is gone" });
    expect(seen).toEqual([0, 1, 2]);
  });

  it("metadata goes there, and its answer and trailers come back", async () => {
    const heads: Metadata[] = [];
    const seen = await client.metadata({
      metadata: { "x-a": "1", "x-b-bin": Uint8Array.of(9) },
      onResponseMetadata: (metadata) => heads.push(metadata),
      onTrailers: (trailers) => heads.push(trailers),
    });
    expect(seen).toMatchObject({ "x-a": "1", "x-b-bin": "9" });
    expect(heads[0]?.get("x-said")).toBe("head");
    expect([...(heads[0]?.get("x-bytes-bin") ?? [])]).toEqual([255, 0]);
    expect(heads[1]?.get("x-cost")).toBe("7");
  });

  it("a call that is cancelled, or late, or left, ends its handler", async () => {
    const controller = new AbortController();
    const cancelled = failure(client.wait({ signal: controller.signal }));
    await server.until(({ waiting }) => waiting === 1);
    controller.abort();
    expect((await cancelled).code).toBe("cancelled");
    await server.until(({ aborted }) => aborted.length === 1);
    expect((await failure(client.wait({ timeoutMs: 100 }))).code).toBe("deadline_exceeded");
    await server.until(({ aborted }) => aborted.length === 2);
    for await (const { i } of client.endless()) if (i === 3) break;
    await server.until(({ aborted }) => aborted.length === 3);
  });
});

it("a redirect fails calls of every kind, and says so", async () => {
  const elsewhere = createServer((_, answer) => answer.writeHead(308, { location: "http://localhost:1/" }).end());
  await once(elsewhere.listen(0, "127.0.0.1"), "listening");
  const { port } = elsewhere.address() as AddressInfo;
  const client = createHttpClient(httpTransport().caller(`http://127.0.0.1:${port}`));
  for (const call of [
    client.echo({ text: "a" }),
    client.sum([1]),
    client.items({ n: 1 })[Symbol.asyncIterator]().next(),
  ])
    expect(await failure(call)).toMatchObject({ code: "unknown", message: expect.stringContaining(" redirects to ") });
  elsewhere.close();
});

it.each([15, 60, 240])(
  "a stream with cursors is back within 5 s of a server that was away for %i s",
  async (seconds) => {
    const server = await serveHttp({});
    onTestFinished(() => server.close());
    startVirtualTime();
    // Each pause is as long as it can be.
    const random = vi.spyOn(Math, "random").mockReturnValue(0.999);
    onTestFinished(() => {
      vi.useRealTimers();
      random.mockRestore();
    });
    let isAway = false;
    const fetch: HttpOptions["fetch"] = async (url, init) => {
      if (isAway) throw new TypeError("fetch failed");
      return server.handler(new Request(url, init));
    };
    const client = createHttpClient(httpTransport({ fetch }).caller("http://127.0.0.1:1"));
    const items = client.follow({ upTo: 3, breakAfter: 2 })[Symbol.asyncIterator]();
    expect((await meanwhile(items.next())).value).toEqual({ i: 1 });
    expect((await meanwhile(items.next())).value).toEqual({ i: 2 });
    isAway = true;
    let isBack = false;
    const last = items.next().finally(() => (isBack = true));
    await pass(seconds * 1000);
    expect(isBack).toBe(false);
    isAway = false;
    await pass(5000);
    expect(isBack).toBe(true);
    expect(await last).toEqual({ done: false, value: { i: 3 } });
  },
);
