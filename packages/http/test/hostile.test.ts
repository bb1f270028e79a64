// Whatever a client sends gets an answer of the protocol, and leaves nothing behind.
import { connect as connectH2 } from "node:http2";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { once } from "node:events";
import { type Interceptor, ServerLoad } from "@quicrpc/core";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  createFetchHandler,
  type Fetch,
  type Http2Fetch,
  http2Fetch,
  type HttpExtension,
  toNodeHandler,
} from "@quicrpc/http";
import { HTTP2_WAYS, newRouter, type Seen, serveHttp } from "./service.js";

const RUNS = 300;
const STATUSES = [200, 204, 400, 404, 405, 415, 429, 501];

const seen: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
const load = new ServerLoad();
const errors: unknown[] = [];
const handler = createFetchHandler({
  routers: [newRouter(seen)],
  load,
  onError: (error) => errors.push(error),
  limits: { maxFrameBytes: 10_000, maxDecompressedBytes: 10_000 },
});
const METHODS = ["echo", "kinds", "items", "sum", "chat", "note", "upload", "nothing", "missing"];

async function answered(request: Request): Promise<void> {
  const answer = await handler(request);
  await answer.arrayBuffer();
  expect(STATUSES).toContain(answer.status);
  // The call may end one promise reaction after its answer has.
  await new Promise((resolve) => setImmediate(resolve));
  expect([errors, load.held, load.handlers]).toEqual([[], 0, 0]);
}

/** A message as streams carry it. */
function envelope(json: string): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, Buffer.from(json)]);
}

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => new TextEncoder().encode(text)),
  // Envelopes, complete and not.
  fc
    .tuple(fc.nat(255), fc.nat(60), fc.uint8Array({ maxLength: 60 }))
    .map(([flags, length, bytes]) => Uint8Array.of(flags, 0, 0, 0, length, ...bytes)),
);
const types = fc
  .constantFrom("json", "msgpack", "connect+json", "connect+msgpack")
  .map((type) => `application/${type}`);
const codings = fc.constantFrom("gzip", "identity", "");

it("in the body of a POST", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), bodies, types, codings, async (method, body, type, coding) => {
      const headers = { "content-type": type, "content-encoding": coding, "connect-content-encoding": coding };
      const url = `http://localhost/test.v1.Http/${method}`;
      await answered(new Request(url, { method: "POST", body: body as BodyInit, headers }));
    }),
    { numRuns: RUNS },
  );
});

it("in one field of a message: the error names it", async () => {
  const good = { at: "2026-01-31T12:00:00.000Z", data: "AAH/", big: "9007199254740993" };
  const field = fc.constantFrom("at", "data", "big");
  const bad = fc.oneof(fc.boolean(), fc.constantFrom(null, "no such thing!", {}, [], [1], undefined));
  await fc.assert(
    fc.asyncProperty(field, bad, async (name, value) => {
      const body = JSON.stringify({ ...good, [name]: value });
      const headers = { "content-type": "application/json" };
      const answer = await handler(
        new Request("http://localhost/test.v1.Http/kinds", { method: "POST", body, headers }),
      );
      const { code, message } = (await answer.json()) as { code: string; message: string };
      expect([answer.status, code]).toEqual([400, "invalid_argument"]);
      expect(message).toMatch(new RegExp(`\\b${name}\\b`));
    }),
    { numRuns: 50 },
  );
});

it.each([
  ["an envelope that is cut off", Uint8Array.of(0, 0, 0, 0, 9, 0x7b)],
  ["bytes after the last envelope", Uint8Array.of(0, 0, 0, 0, 2, 0x7b, 0x7d, 1)],
])("with %s, the error says so", async (_, body) => {
  const headers = { "content-type": "application/connect+json" };
  const answer = await handler(new Request("http://localhost/test.v1.Http/sum", { method: "POST", body, headers }));
  expect(await answer.text()).toContain('"code":"invalid_argument"');
});

it("whose body was already read is answered with an error in the stream", async () => {
  const own = new ServerLoad();
  const told: unknown[] = [];
  const serveOne = createFetchHandler({ routers: [newRouter(seen)], load: own, onError: (error) => told.push(error) });
  const headers = { "content-type": "application/connect+json" };
  const body = envelope("1") as BodyInit;
  const request = new Request("http://localhost/test.v1.Http/sum", { method: "POST", body, headers });
  await request.text();
  const answer = await serveOne(request);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/connect+json"]);
  expect(await answer.text()).toContain('"code":"');
  await vi.waitUntil(() => own.handlers === 0);
  expect(own.held).toBe(0);
});

it("in the query of a GET", async () => {
  const parameter = fc.tuple(
    fc.constantFrom("message", "encoding", "base64", "compression", "connect", "__proto__"),
    fc.oneof(fc.constantFrom("json", "msgpack", "gzip", "1", "v1", "%", '{"text":"a"}', '{"n":1}'), fc.string()),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), fc.array(parameter), fc.boolean(), async (method, given, events) => {
      const query = new URLSearchParams(given);
      const headers = { accept: events ? "text/event-stream" : "*/*" };
      await answered(new Request(`http://localhost/test.v1.Http/${method}?${query.toString()}`, { headers }));
    }),
    { numRuns: RUNS },
  );
});

/** A request whose body stops before its end. */
async function stalled(url: string, headers: readonly string[], body: Uint8Array): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const head = [
    "POST /test.v1.Http/echo HTTP/1.1",
    `host: ${host}`,
    ...headers,
    `content-length: ${body.length + 1000}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(body);
  return socket;
}

it.each([
  ["a body", "application/json"],
  ["an envelope", "application/connect+json"],
])("%s that is late is let go of, and its connection is closed", async (_, type) => {
  const own = new ServerLoad();
  const server = await serveHttp({ load: own });
  const headers = [`content-type: ${type}`, "connect-timeout-ms: 100"];
  const body = Uint8Array.of(0, 0, 0, 0xff, 0xff, ...new Uint8Array(20_000));
  const sockets = await Promise.all(Array.from({ length: 5 }, () => stalled(server.url, headers, body)));
  await Promise.all(sockets.map(async (socket) => once(socket.resume(), "close")));
  expect([own.held, own.handlers]).toEqual([0, 0]);
  await server.close();
});

/** A client that sends a request some times over, and reads no answer. */
function lazy(port: number, method: string, type: string, body: Uint8Array, times = 1): Socket {
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {});
  const fields = ["host: localhost", `content-type: ${type}`, `content-length: ${body.length}`];
  for (let sent = 0; sent < times; sent++) {
    socket.write(`POST /test.v1.Http/${method} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
    socket.write(body);
  }
  return socket;
}

/** Asks in each turn. Where it waits in vain, the error has what is `seen`. */
async function becomes(holds: () => boolean, seen: () => object = () => ({})): Promise<void> {
  for (const until = performance.now() + 15_000; !holds(); ) {
    if (performance.now() > until) expect.unreachable(`nothing of it in 15 s: ${JSON.stringify(seen())}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it("answers that are not read count until they are sent, or their client is gone", async () => {
  const own = new ServerLoad();
  let answers = 0;
  const counting: Interceptor = async (call, next) => {
    const answer = await next(call);
    answers++;
    return answer;
  };
  const { port, close } = await serveHttp({ load: own, interceptors: [counting] });
  // More than two sockets' buffers hold; at some point the server reads no further request.
  const text = JSON.stringify({ text: "x".repeat(1_900_000) });
  const socket = lazy(port, "echo", "application/json", Buffer.from(text), 30);
  const account = (): object => ({ answers, handlers: own.handlers, held: own.held, written: socket.bytesWritten });
  await becomes(() => answers > 0 && own.handlers === 0 && own.held >= text.length, account);
  socket.destroy();
  await becomes(() => own.held === 0, account);
  await close();
});

it("requests that wait behind another on their connection are gone with it", async () => {
  const own = new ServerLoad();
  const { port, close } = await serveHttp({ load: own });
  const socket = lazy(port, "wait", "application/json", Buffer.from("{}"), 20);
  await becomes(() => own.handlers === 20);
  socket.destroy();
  await becomes(() => own.handlers === 0 && own.held === 0);
  await close();
});

it.each([1, 3])("%d requests whose client leaves before middleware passes them on are not served", async (times) => {
  const own = new ServerLoad();
  const waiting: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
  const listener = toNodeHandler(createFetchHandler({ routers: [newRouter(waiting)], load: own }));
  const held: (() => void)[] = [];
  const server = createServer((request, response) => void held.push(() => listener(request, response)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = lazy((server.address() as AddressInfo).port, "wait", "application/json", Buffer.from("{}"), times);
  const [accepted] = (await once(server, "connection")) as [Socket];
  await becomes(() => held.length === times);
  socket.destroy();
  await once(accepted, "close");
  for (const pass of held) pass();
  // Longer than this test may take.
  await listener.drain({ timeoutMs: 60_000 });
  expect([waiting.waiting, own.held]).toEqual([0, 0]);
  server.close();
});

const SERVERS = [["HTTP/1.1", undefined] as const, ...HTTP2_WAYS.map((way) => [`HTTP/2 by ${way}`, way] as const)];

describe("answers that are not of methods", () => {
  const page = "x".repeat(8_000_000);
  const extension: HttpExtension = { path: "/page", start: () => async () => Promise.resolve(new Response(page)) };
  const endless: HttpExtension = {
    path: "/endless",
    start: () => async () => {
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(100_000)) });
      return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    },
  };
  const paths = { "/page": page.length, "/endless": 1, "/openapi.json": page.length };

  it.each(Object.entries(paths))("at %s count until they are sent, or their client is gone", async (path, bytes) => {
    const own = new ServerLoad();
    const openApi = { info: { title: "T", version: "1", description: page } };
    const { port, close } = await serveHttp({ load: own, openApi, extensions: [extension, endless] });
    const socket = connect(port, "127.0.0.1").pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await becomes(() => own.held >= bytes);
    socket.destroy();
    await becomes(() => own.held === 0);
    await close();
  });

  it.each(SERVERS)("are cut off over %s where they fail after their beginning", async (_, way) => {
    const broken: HttpExtension = {
      path: "/broken",
      start: () => async () => {
        let pieces = 0;
        const body = new ReadableStream({
          pull(controller) {
            if (pieces++ === 0) controller.enqueue(new Uint8Array(10));
            else throw new Error("broken");
          },
        });
        return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
      },
    };
    const { url, errors, close } = await serveHttp({ extensions: [broken] }, way);
    const ask: Fetch = way === undefined ? fetch : http2Fetch(connectH2);
    const signal = AbortSignal.timeout(10_000);
    const init = { method: "GET", headers: new Headers(), signal, redirect: "manual" } as const;
    const answer = await ask(new URL("/broken", url).href, init);
    await expect(answer.text()).rejects.toThrow(TypeError);
    expect(errors).toEqual(["/broken: Error: broken"]);
    if ("close" in ask) (ask as Http2Fetch).close();
    await close();
  });

  it.each(["/page", "/endless"])("at %s are waited for by a drain", async (path) => {
    const { port, handler, close } = await serveHttp({ extensions: [extension, endless], limits: { maxCloseMs: 50 } });
    const socket = connect(port, "127.0.0.1").pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await once(socket, "readable");
    let drained = false;
    const drain = handler.drain({ timeoutMs: 50 }).then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    await drain;
    socket.destroy();
    await close();
  });
});

it("an answer that is not read goes where others need its memory", async () => {
  const own = new ServerLoad({ maxServerBytes: 17_000_000 });
  const { port, url, close } = await serveHttp({ load: own, limits: { maxFrameBytes: 20_000_000 } });
  const request = envelope(JSON.stringify({ n: 2, size: 16_000_000 }));
  const socket = lazy(port, "items", "application/connect+json", request);
  await becomes(() => own.held > 16_000_000);
  const closed = once(socket.resume(), "close");
  socket.pause();
  const body = JSON.stringify({ text: "x".repeat(1_900_000) });
  const answer = await fetch(`${url}echo`, { method: "POST", body, headers: { "content-type": "application/json" } });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
  socket.resume();
  await closed;
  await becomes(() => own.held === 0);
  await close();
});

it.each(HTTP2_WAYS)("a request over HTTP/2 by %s that is late is answered, and its stream ended", async (way) => {
  const server = await serveHttp({}, way);
  const session = connectH2(new URL(server.url).origin);
  const stream = session.request({
    ":method": "POST",
    ":path": "/test.v1.Http/echo",
    "content-type": "application/json",
    "connect-timeout-ms": "50",
  });
  stream.write("{");
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  expect(headers[":status"]).toBe(504);
  stream.resume();
  await once(stream, "close");
  expect(stream.rstCode).toBe(0);
  session.close();
  await server.close();
});

const TEXT = Buffer.from('{"text":"in pieces"}');
const ECHO = { ":method": "POST", ":path": "/test.v1.Http/echo", "content-type": "application/json" };

describe("a message over HTTP/1.1", () => {
  const HEAD = "POST /test.v1.Http/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
  const SAID = Buffer.from(`${HEAD}content-length: ${TEXT.length}\r\n\r\n${String(TEXT)}`);
  const CHUNKED = Buffer.from(
    `${HEAD}transfer-encoding: chunked\r\n\r\n9\r\n${String(TEXT.subarray(0, 9))}\r\nb\r\n${String(TEXT.subarray(9))}\r\n0\r\n\r\n`,
  );

  /** The bodies of answers to requests that follow each other on one connection; it fails where that ends before them. */
  async function answersTo(pieces: readonly Buffer[], requests: number): Promise<string[]> {
    let onRequest = (): void => {};
    const server = await serveHttp({}, undefined, () => onRequest());
    const socket = connect(server.port, "127.0.0.1");
    const taken = new Promise<void>((resolve) => (onRequest = resolve));
    let text = "";
    const bodies = (): string[] => text.match(/^\{.*?\}/gm) ?? [];
    const answered = new Promise<void>((resolve, reject) => {
      socket.on("data", (piece) => {
        text += String(piece);
        if (bodies().length === requests) resolve();
      });
      socket.on("close", () => reject(new Error(`the connection ended after ${JSON.stringify(text)}`)));
    });
    const [first = Buffer.alloc(0), ...others] = pieces;
    socket.write(first);
    for (const piece of others) {
      // The server has the head.
      await taken;
      await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    }
    await answered;
    socket.destroy();
    await server.close();
    expect(text).not.toMatch(/connection: close/i);
    return bodies();
  }

  it.each([
    ["of a length that is said", SAID],
    ["of a length that is not said", CHUNKED],
  ])("%s may come in pieces", async (_, request) => {
    const body = request.indexOf("\r\n\r\n") + 4;
    for (const cut of [body, body + 1, request.length - 1, request.length]) {
      const pieces = [request.subarray(0, cut), request.subarray(cut)].filter(({ length }) => length > 0);
      expect(await answersTo(pieces, 1)).toEqual([String(TEXT)]);
    }
  });

  it("may be followed by others before it is answered", async () => {
    expect(await answersTo([Buffer.concat([SAID, CHUNKED, SAID])], 3)).toEqual(Array(3).fill(String(TEXT)));
    const cut = SAID.length + 20;
    const all = Buffer.concat([SAID, SAID]);
    expect(await answersTo([all.subarray(0, cut), all.subarray(cut)], 2)).toEqual(Array(2).fill(String(TEXT)));
  });

  it("is at its end once it is answered", async () => {
    let request: IncomingMessage | undefined;
    const server = await serveHttp({}, undefined, (answer) => (request = (answer as unknown as ServerResponse).req));
    const answer = await fetch(`${server.url}echo`, {
      method: "POST",
      body: TEXT,
      headers: { "content-type": "application/json" },
    });
    await answer.text();
    await vi.waitUntil(() => request?.destroyed);
    expect(request?.readableEnded).toBe(true);
    await server.close();
  });
});

describe.each(HTTP2_WAYS)("a message over HTTP/2 by %s", (way) => {
  it.each([
    ["of a length that is said", { "content-length": TEXT.length }],
    ["of a length that is not said", {}],
  ])("%s may come in pieces", async (_, length) => {
    const server = await serveHttp({}, way);
    const session = connectH2(new URL(server.url).origin);
    for (const cut of [0, 1, TEXT.length - 1, TEXT.length]) {
      const stream = session.request({ ...ECHO, ...length });
      if (cut > 0) await new Promise((resolve) => stream.write(TEXT.subarray(0, cut), resolve));
      // The server has had that when it answers.
      await new Promise((resolve) => session.ping(resolve));
      stream.end(TEXT.subarray(cut));
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece as Buffer);
      expect(String(Buffer.concat(pieces))).toBe(String(TEXT));
    }
    session.close();
    await server.close();
  });

  it.each([
    ["with its head", true],
    ["after it", false],
  ])("that is empty is answered, whether its stream ends %s", async (_, endStream) => {
    const server = await serveHttp({}, way);
    const session = connectH2(new URL(server.url).origin);
    const fields = { ...ECHO, ":path": "/test.v1.Http/nothing", "content-length": 0 };
    const stream = session.request(fields, { endStream });
    if (!endStream) stream.end();
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    expect(String(Buffer.concat(pieces))).toBe("{}");
    session.close();
    await server.close();
  });

  it.each([
    ["shorter", TEXT.length + 1],
    ["longer", TEXT.length - 1],
  ])("that is %s than its length ends its stream, or from Node 26 on its session", async (_, length) => {
    const load = new ServerLoad();
    const server = await serveHttp({ load }, way);
    const session = connectH2(new URL(server.url).origin);
    session.on("error", () => {});
    const stream = session.request({ ...ECHO, "content-length": length });
    stream.end(TEXT);
    const [error] = (await once(stream, "error").catch((thrown: unknown) => [thrown])) as [Error];
    expect(error.message).toMatch(/NGHTTP2_PROTOCOL_ERROR|^Session closed with error code/);
    session.close();
    await server.close();
    expect([server.errors, load.held, load.handlers]).toEqual([[], 0, 0]);
  });
});

it("a message over HTTP/2 whose stream is never ended is answered once it is complete, and its stream ended", async () => {
  const server = await serveHttp({}, "streams");
  const session = connectH2(new URL(server.url).origin);
  const stream = session.request({ ...ECHO, "content-length": TEXT.length });
  stream.write(TEXT);
  const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
  expect(answer[":status"]).toBe(200);
  stream.resume();
  await once(stream, "close");
  expect(stream.rstCode).toBe(0);
  await server.handler.drain({ timeoutMs: 0 });
  session.close();
  await server.close();
});

it("a request by a method that the platform has no request for is answered, and is no failure of the server", async () => {
  const page: HttpExtension = { path: "/page", start: () => () => Promise.resolve(new Response("page")) };
  const { port, errors, close } = await serveHttp({ extensions: [page] });
  for (const [method, status] of [
    ["TRACE", 404],
    ["GET", 200],
  ] as const) {
    const socket = connect(port, "127.0.0.1").setEncoding("latin1");
    socket.write(`${method} /page HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    let answer = "";
    for await (const text of socket) answer += String(text);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
  }
  expect(errors).toEqual([]);
  await close();
});

it("a request whose host is none is answered, and is no failure of the server", async () => {
  const told: unknown[] = [];
  const page: HttpExtension = {
    path: "/page",
    start:
      () =>
      ({ request }) =>
        Promise.resolve(new Response(new URL(request.url).pathname)),
  };
  const own = toNodeHandler(
    createFetchHandler({ routers: [], extensions: [page], onError: (error) => told.push(error) }),
  );
  // Behind TLS nobody looks at the name.
  const server = createServer((request, response) => {
    Object.assign(request.socket, { encrypted: true });
    own(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  for (const host of ["[", "a b", "%", "x:99999"]) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("latin1");
    socket.write(`GET /page HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    let answer = "";
    for await (const text of socket) answer += String(text);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain("/page");
  }
  expect(told).toEqual([]);
  await new Promise((resolve) => server.close(resolve));
});

it("an answer before the request's end closes its connection, and no other", async () => {
  const server = createServer(toNodeHandler(createFetchHandler({ routers: [] }))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const answerOf = async (length: number): Promise<string> => {
    const socket = connect(port, "127.0.0.1").setEncoding("latin1");
    socket.write(
      `POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
    );
    const [answer] = (await once(socket, "data")) as [string];
    socket.destroy();
    return answer.toLowerCase();
  };
  expect(await answerOf(10)).toContain("connection: close");
  expect(await answerOf(0)).toContain("connection: keep-alive");
  await new Promise((resolve) => server.close(resolve));
});

it.each(["cross-site", "same-site"])("a GET that a %s page causes is refused", async (site) => {
  const url = 'http://localhost/test.v1.Http/echo?encoding=json&message={"text":"a"}';
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await handler(new Request(url, { headers }))).status;
  expect(await statusOf({ "sec-fetch-site": site })).toBe(403);
  expect(await statusOf({ "sec-fetch-site": "none" })).not.toBe(403);
});

it.each([
  ["sum", "application/connect+json"],
  ["items", "application/connect+json"],
  ["echo", "application/json"],
])("what a body fails with (%s) stays here, and the hook is told", async (method, type) => {
  const told: unknown[] = [];
  const own = createFetchHandler({ routers: [newRouter(seen)], onError: (error) => told.push(error) });
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("a secret")) });
  const init = { method: "POST", body, headers: { "content-type": type }, duplex: "half" };
  const answer = await own(new Request(`http://localhost/test.v1.Http/${method}`, init));
  expect(await answer.text()).toContain('"code":"invalid_argument","message":"the request could not be read"');
  expect(told).toMatchObject([{ message: "a secret" }]);
});

it("what decompression makes of a body counts", async () => {
  const own = new ServerLoad({ maxServerBytes: 100_000 });
  const small = createFetchHandler({ routers: [newRouter(seen)], load: own, limits: { maxSessionBytes: 50_000 } });
  const bomb = new Response(new Blob([new Uint8Array(90_000)]).stream().pipeThrough(new CompressionStream("gzip")));
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  const body = await bomb.arrayBuffer();
  const answer = await small(new Request("http://localhost/test.v1.Http/echo", { method: "POST", body, headers }));
  expect([answer.status, own.held]).toEqual([429, 0]);
});

it("a message is taken if it fits into what is left of the server's memory", async () => {
  const own = new ServerLoad({ maxServerBytes: 1_000_000, maxSessionBytes: 100_000 });
  const full = createFetchHandler({ routers: [newRouter(seen)], load: own });
  const headers = { "content-type": "application/json" };
  const post = async (more: unknown): Promise<number> => {
    const body = JSON.stringify({ text: "", more });
    return (await full(new Request("http://localhost/test.v1.Http/echo", { method: "POST", body, headers }))).status;
  };
  own.held = own.max - 40_000;
  expect(await post("x".repeat(2048))).toBe(200);
  expect(await post(Array<number>(2000).fill(1))).toBe(429);
  expect(own.held).toBe(own.max - 40_000);
});
