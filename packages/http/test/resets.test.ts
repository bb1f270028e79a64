// Requests over HTTP/2 whose bodies wait for their handlers, and those that are reset, whatever the server is doing then.
import { once } from "node:events";
import { connect, type Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import { type Interceptor, RpcError, ServerLoad } from "@quicrpc/core";
import { describe, expect, it, vi } from "vitest";
import { createFetchHandler, type UploadStore } from "@quicrpc/http";
import { createBlobsRouter } from "./generated/blobs.js";
import { closedAfterEach } from "../../../test/open.js";
import { headersFrame, RawHttp2, resetFrame } from "./raw-http2.js";
import { type AnswerOfNode, HTTP2_WAYS, type Http2Way, newRouter, servingInTests } from "./service.js";

const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
const CANCEL = 8;
const serve = servingInTests();
const clients = closedAfterEach();
const opened = async (...given: Parameters<typeof RawHttp2.open>): Promise<RawHttp2> => {
  const client = await RawHttp2.open(...given);
  clients.push({ close: () => client.socket.destroy() });
  return client;
};

/** Fulfils when a condition holds. */
async function until(holds: () => boolean | undefined): Promise<void> {
  await vi.waitUntil(holds, { timeout: 15_000, interval: 5 });
}

/** Header fields of a call whose input is a stream. */
const sumFields = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ":method": "POST",
  ":scheme": "http",
  ":authority": "localhost",
  ":path": "/test.v1.Http/sum",
  "content-type": "application/connect+json",
  ...more,
});

/** More than the server reads ahead of a handler. */
const ITEMS = Buffer.concat(Array<Buffer>(60_000).fill(Buffer.from("\0\0\0\0\x0f123456789012345")));

interface Served {
  readonly client: RawHttp2;
  readonly load: ServerLoad;
  readonly errors: readonly string[];
  readonly stream: ServerHttp2Stream;
  readonly drain: () => Promise<void>;
}

function streamOf(answer: AnswerOfNode): ServerHttp2Stream {
  const given = answer as unknown as ServerHttp2Stream | Http2ServerResponse;
  return "stream" in given ? given.stream : given;
}

/** A call in progress of which the server has read all that it takes, so that some of its body waits in the stream. */
async function waiting(
  way: Http2Way,
  interceptor: Interceptor,
  fields = sumFields(),
  body: Buffer = ITEMS,
): Promise<Served> {
  const load = new ServerLoad();
  let stream: ServerHttp2Stream | undefined;
  const { port, errors, handler } = await serve({ load, interceptors: [interceptor] }, way, (answer) => {
    stream = streamOf(answer);
  });
  const client = await opened(port, [headersFrame(fields)], body);
  await until(() => stream?.isPaused() === true && stream.readableLength > 0);
  const drain = (): Promise<void> => handler.drain({ timeoutMs: 0 });
  return { client, load, errors, stream: stream as ServerHttp2Stream, drain };
}

/** An interceptor that keeps calls until `open` is called, and refuses them then. */
function gate(): { interceptor: Interceptor; signals: (AbortSignal | undefined)[]; open: () => void } {
  let open!: () => void;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const signals: (AbortSignal | undefined)[] = [];
  const interceptor: Interceptor = async ({ signal }) => {
    signals.push(signal);
    await isOpen;
    throw new RpcError("permission_denied", "no");
  };
  return { interceptor, signals, open };
}

/** Envelopes with a kilobyte in MessagePack each. */
const KILOBYTES = Buffer.concat(
  Array<Buffer>(900).fill(Buffer.concat([Buffer.from([0, 0, 0, 4, 3, 0xc5, 4, 0]), Buffer.alloc(1024)])),
);

it.each(HTTP2_WAYS)("what waits of a body over HTTP/2 by %s counts, until its call is over", async (way) => {
  const { interceptor, open } = gate();
  const fields = sumFields({ ":path": "/test.v1.Http/upload", "content-type": "application/connect+msgpack" });
  const { load } = await waiting(way, interceptor, fields, KILOBYTES);
  // 256 KiB of items that the handler has not read take some 345,000; 64 KiB have arrived behind them.
  expect(load.held).toBeGreaterThan(345_000 + 60_000);
  open();
  await until(() => load.handlers === 0 && load.held === 0);
});

describe.each(HTTP2_WAYS)("a request over HTTP/2 by %s that is reset while its body waits", (way) => {
  it.each([
    ["without an error", NO_ERROR],
    ["as cancelled", CANCEL],
  ])("%s is cancelled at once, and may be refused afterwards", async (_, code) => {
    const { interceptor, signals, open } = gate();
    const { client, load, errors, stream } = await waiting(way, interceptor);
    client.socket.write(resetFrame(code));
    await until(() => signals[0]?.aborted);
    expect(signals[0]?.reason).toMatchObject({ code: "cancelled" });
    open();
    await until(() => load.handlers === 0);
    expect(load.held).toBe(0);
    expect(stream.destroyed).toBe(true);
    expect(errors).toEqual([]);
  });

  it("ends in the same turn as its deadline, a drain, or its handler", async () => {
    const { interceptor, open } = gate();
    const { client, load, errors, stream, drain } = await waiting(way, interceptor);
    client.socket.write(resetFrame(NO_ERROR));
    // Before anything that follows the reset.
    await once(stream, "aborted");
    open();
    await drain();
    await until(() => load.handlers === 0);
    expect(load.held).toBe(0);
    expect(errors).toEqual([]);
  });
});

/** A store of uploads whose bytes are written once `open` is called. */
function slowStore(): { store: UploadStore; open: () => void } {
  let open!: () => void;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const store: UploadStore = {
    create: async (_, info) => ({
      info,
      size: async () => 0,
      write: () => isOpen,
      sync: async () => {},
      async *read() {},
      remove: async () => {},
      note: async () => {},
    }),
    find: async () => undefined,
  };
  return { store, open };
}

it.each(HTTP2_WAYS)("an upload over HTTP/2 by %s that is reset while its body waits is over at once", async (way) => {
  const { store, open } = slowStore();
  let stream: ServerHttp2Stream | undefined;
  const routers = [createBlobsRouter({ put: () => "", get: () => ({}), check: () => "", same: () => ({}) })];
  const { port, errors, handler } = await serve({ routers, uploads: store }, way, (answer) => {
    stream = streamOf(answer);
  });
  const fields = sumFields({ ":path": "/test.v1.HttpBlobs/put/file", "content-type": "text/plain" });
  const client = await opened(port, [headersFrame(fields)], ITEMS);
  await until(() => stream?.isPaused() === true && stream.readableLength > 0);
  client.socket.write(resetFrame(NO_ERROR));
  await once(stream as ServerHttp2Stream, "aborted");
  expect(stream?.destroyed).toBe(true);
  open();
  await handler.drain({ timeoutMs: 1_000_000 });
  expect(errors).toEqual([]);
});

it.each(HTTP2_WAYS)(
  "an answer over HTTP/2 by %s that the platform refuses resets its stream, and is reported",
  async (way) => {
    const load = new ServerLoad();
    const { port, errors } = await serve({ load, compressFrom: 1 }, way, (answer) => {
      streamOf(answer).respond = () => {
        throw new Error("the platform refuses it");
      };
    });
    const session = connect(`http://127.0.0.1:${port}`);
    clients.push(session);
    for (const [name, type, body] of [
      ["nothing", "application/json", "{}"],
      ["items", "application/connect+json", '\0\0\0\0\x07{"n":1}'],
      ["note", "application/json", '{"text":""}'],
      ["missing", "application/json", "{}"],
    ] as const) {
      const fields = { ":method": "POST", ":path": `/test.v1.Http/${name}`, "content-type": type };
      const stream = session.request({ ...fields, "accept-encoding": "gzip" });
      stream.on("error", () => {});
      stream.resume().end(body);
      await new Promise((resolve) => stream.on("close", resolve));
      expect(stream.rstCode).toBe(INTERNAL_ERROR);
    }
    await until(() => load.handlers === 0 && load.held === 0);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.every((error) => error.includes("the platform refuses it"))).toBe(true);
  },
);

describe.each(HTTP2_WAYS)("requests over HTTP/2 by %s that are reset with their head", (way) => {
  it.each([
    ["a call", "/test.v1.Http/sum", NO_ERROR],
    ["a call", "/test.v1.Http/sum", CANCEL],
    ["a method that is not there", "/test.v1.Http/missing", NO_ERROR],
    ["a method that is not there", "/test.v1.Http/missing", CANCEL],
  ])("for %s at %s by the code %i leave nothing behind", async (_, path, code) => {
    const load = new ServerLoad();
    let streams = 0;
    const { port, errors } = await serve({ load }, way, () => streams++);
    await opened(port, [headersFrame(sumFields({ ":path": path })), resetFrame(code)]);
    await until(() => streams > 0);
    await until(() => load.handlers === 0 && load.held === 0);
    expect(errors).toEqual([]);
  });
});

describe("a body that does not end", () => {
  it.each([
    ["a stream of items", "sum", {}],
    ["the message of a stream of answers", "items", { maxBodyMs: 20 }],
  ])("of %s is dropped with its call", async (_, method, options) => {
    const load = new ServerLoad();
    const seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
    const handler = createFetchHandler({ routers: [newRouter(seen)], load, ...options });
    let cancelled = 0;
    const body = new ReadableStream<Uint8Array>({
      // The begin of an envelope of 50 bytes.
      start: (controller) => controller.enqueue(Uint8Array.of(0, 0, 0, 0, 50, 1, 2, 3)),
      cancel: () => void cancelled++,
    });
    const headers = { "content-type": "application/connect+json", "connect-timeout-ms": "100" };
    const init = { method: "POST", body, headers, duplex: "half" };
    const answer = await handler(new Request(`http://localhost/test.v1.Http/${method}`, init));
    expect(await answer.text()).toContain("deadline_exceeded");
    await until(() => load.handlers === 0 && load.held === 0);
    expect(cancelled).toBe(1);
  });
});
