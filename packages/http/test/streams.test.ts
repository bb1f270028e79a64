// Calls with streams of messages, against real servers, with envelopes made by hand.
import { once } from "node:events";
import { connect as connectH2 } from "node:http2";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AnswerOfNode, HTTP2_WAYS, type Http2Way, servingInTests } from "./service.js";

const served = servingInTests();

const streamType = { "content-type": "application/connect+json" };

function envelope(body: string | Uint8Array, flags = 0): Buffer {
  const bytes = Buffer.from(body);
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

interface Read {
  readonly items: unknown[];
  /** The message at the end. */
  readonly end: { readonly error?: { code: string; message?: string }; readonly metadata?: Record<string, string[]> };
}

function read(bytes: Uint8Array): Read {
  const all = Buffer.from(bytes);
  const items: unknown[] = [];
  for (let at = 0; at < all.length; ) {
    const flags = all.readUInt8(at);
    const end = at + 5 + all.readUInt32BE(at + 1);
    const body = all.subarray(at + 5, end);
    const json: unknown = JSON.parse(String((flags & 1) === 0 ? body : gunzipSync(body)));
    if ((flags & 2) !== 0) {
      expect(end).toBe(all.length);
      return { items, end: json as Read["end"] };
    }
    items.push(json);
    at = end;
  }
  throw new Error("the stream has no end");
}

async function post(url: string, body: Uint8Array, headers: Record<string, string> = {}): Promise<Read> {
  const answer = await fetch(url, { method: "POST", body: body as BodyInit, headers: { ...streamType, ...headers } });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/connect+json"]);
  return read(new Uint8Array(await answer.arrayBuffer()));
}

/** Calls `items` by fetch, or over HTTP/2. */
async function itemsOf(url: string, http2: Http2Way | undefined, body: Uint8Array): Promise<Read> {
  if (http2 === undefined) return post(`${url}items`, body);
  const session = connectH2(new URL(url).origin);
  const stream = session.request({ ":method": "POST", ":path": "/test.v1.Http/items", ...streamType });
  stream.end(body);
  const answer = read(await buffer(stream));
  session.close();
  return answer;
}

describe("a stream of answers", () => {
  it("ends with a message of its own", async () => {
    const { url } = await served();
    expect(await post(`${url}items`, envelope('{"n":3}'))).toEqual({ items: [{ i: 0 }, { i: 1 }, { i: 2 }], end: {} });
  });

  it("ends with the error that its handler throws", async () => {
    const { url } = await served();
    const { items, end } = await post(`${url}items`, envelope('{"n":1,"failAfter":true}'));
    expect(items).toEqual([{ i: 0 }]);
    expect(end.error).toEqual({ code: "data_loss", message: "the rest is gone" });
  });

  it("is compressed, each message by itself, for who asks", async () => {
    const { url } = await served();
    const headers = { "connect-accept-encoding": "gzip", "connect-content-encoding": "gzip" };
    const { items } = await post(`${url}items`, envelope(gzipSync('{"n":2,"size":5000}'), 1), headers);
    expect(items).toMatchObject([{ i: 0 }, { i: 1 }]);
  });

  it.each([undefined, ...HTTP2_WAYS])("is written at once where its items are, in few writes: %s", async (http2) => {
    let writes = 0;
    const count = (answer: AnswerOfNode): void => {
      const write = answer.write.bind(answer);
      answer.write = (...given) => (writes++, write(...given));
    };
    const { url } = await served({}, http2, count);
    expect((await itemsOf(url, http2, envelope('{"n":1000}'))).items).toEqual(
      Array.from({ length: 1000 }, (_, i) => ({ i })),
    );
    expect(writes).toBeLessThan(10);
  });

  it("goes no faster than its client reads, and ends when that is gone", async () => {
    for (const http2 of [undefined, ...HTTP2_WAYS]) {
      const { port, seen, until } = await served({}, http2);
      let before = -1;
      const gone = http2 === undefined ? slowH1(port) : slowH2(port);
      await until(({ given }) => given > 0);
      // What the socket and the stream take is bounded: the handler stops.
      while (seen.given !== before) {
        before = seen.given;
        for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(seen.given).toBeLessThan(5000);
      gone();
      await until(({ aborted }) => aborted.length > 0);
      expect(seen.aborted).toEqual(["cancelled"]);
    }
  });
});

/** Asks for an endless stream and never reads. Returns what ends the connection. */
function slowH1(port: number): () => void {
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  const body = envelope("{}");
  socket.write(
    `POST /test.v1.Http/endless HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/connect+json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body);
  return () => socket.destroy();
}

function slowH2(port: number): () => void {
  const session = connectH2(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": "/test.v1.Http/endless", ...streamType });
  stream.on("error", () => {});
  stream.end(envelope("{}"));
  return () => {
    stream.close(8);
    session.close();
  };
}

describe("a stream of requests", () => {
  it("is answered once", async () => {
    const { url } = await served();
    const numbers = [1, 2, 3.5].map((number) => envelope(String(number)));
    expect(await post(`${url}sum`, Buffer.concat(numbers))).toEqual({ items: [6.5], end: {} });
    expect(await post(`${url}sum`, Buffer.alloc(0))).toEqual({ items: [0], end: {} });
  });

  it("may be of raw bytes, in base64", async () => {
    const { url } = await served();
    const pieces = ["AAEC", "/w=="].map((text) => envelope(JSON.stringify(text)));
    expect((await post(`${url}upload`, Buffer.concat(pieces))).items).toEqual([4]);
  });

  it("and of answers take turns, over HTTP/1.1 and HTTP/2", async () => {
    const one = await served();
    const sent = request(`${one.url}chat`, { method: "POST", headers: streamType });
    const received: Buffer[] = [];
    const turn = (): Promise<Buffer> => new Promise((resolve) => (onData = resolve));
    let onData: (bytes: Buffer) => void = () => {};
    sent.on("response", (answer) => answer.on("data", (bytes: Buffer) => onData(bytes)));
    for (const text of ["a", "b"]) {
      const next = turn();
      sent.write(envelope(JSON.stringify(text)));
      received.push(await next);
    }
    const last = turn();
    sent.end();
    received.push(await last);
    expect(read(Buffer.concat(received))).toEqual({ items: ["A", "B"], end: {} });

    const two = await served({}, "streams");
    const session = connectH2(`http://127.0.0.1:${two.port}`);
    const stream = session.request({ ":method": "POST", ":path": "/test.v1.Http/chat", ...streamType });
    const all: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => all.push(bytes));
    const ended = new Promise((resolve) => stream.on("end", resolve));
    for (const text of ["a", "b"]) stream.write(envelope(JSON.stringify(text)));
    stream.end();
    await ended;
    session.close();
    expect(read(Buffer.concat(all))).toEqual({ items: ["A", "B"], end: {} });
  });

  it("that ends too early fails the call", async () => {
    const { url } = await served();
    const { end } = await post(`${url}sum`, envelope("12345").subarray(0, 7));
    expect(end.error?.code).toBe("invalid_argument");
  });
});

/** Requests whose body stalls: each begins one, with a piece of it, and resolves with what came when the answer is over and when all of it is. */
const STALLING = {
  "HTTP/1.1": async (port: number, path: string, piece: Buffer) => {
    const sent = request({ port, host: "127.0.0.1", method: "POST", path, headers: streamType });
    sent.on("error", () => {});
    const closed = new Promise((resolve) => sent.on("close", resolve));
    sent.write(piece);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return { answer: await buffer(answer), closed };
  },
  "HTTP/2": async (port: number, path: string, piece: Buffer) => {
    const session = connectH2(`http://127.0.0.1:${port}`);
    const sent = session.request({ ":method": "POST", ":path": path, ...streamType });
    const closed = once(sent, "close").then(() => {
      session.close();
      return sent.rstCode;
    });
    sent.write(piece);
    return { answer: await buffer(sent), closed };
  },
};

describe("a request that stalls, and is answered all the same, is over a second later", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ["HTTP/1.1", undefined, "pieces", undefined],
    ["HTTP/1.1", undefined, "one piece", undefined],
    ["HTTP/2", "requests", "pieces", 0],
    ["HTTP/2", "requests", "one piece", 0],
    ["HTTP/2", "streams", "pieces", 0],
    ["HTTP/2", "streams", "one piece", 0],
  ] as const)("over %s (%s), by an answer in %s", async (version, way, how, code) => {
    const { port } = await served({}, way);
    const path = how === "pieces" ? "/test.v1.Http/chat" : "/test.v1.Http/missing";
    const { answer, closed } = await STALLING[version](port, path, envelope("{"));
    if (how === "pieces") expect(read(answer).end.error?.code).toBe("invalid_argument");
    const state = { isOver: false };
    void closed.then(() => (state.isOver = true));
    for (let i = 0; !state.isOver && i < 10_000; i++) {
      vi.advanceTimersByTime(100);
      await new Promise(setImmediate);
    }
    expect(state.isOver).toBe(true);
    if (code !== undefined) expect(await closed).toBe(code);
  });
});

describe("wrong envelopes", () => {
  it.each([
    ["none", Buffer.alloc(0), {}, "unimplemented"],
    ["two", Buffer.concat([envelope('{"n":1}'), envelope('{"n":1}')]), {}, "unimplemented"],
    ["cut off in the head", envelope('{"n":1}').subarray(0, 3), {}, "invalid_argument"],
    ["cut off in the message", envelope('{"n":1}').subarray(0, 8), {}, "invalid_argument"],
    ["a length beyond the limit", Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), {}, "resource_exhausted"],
    ["unknown flags", envelope('{"n":1}', 64), {}, "invalid_argument"],
    ["an end of the client's", envelope("{}", 2), {}, "invalid_argument"],
    ["compressed without a name", envelope(gzipSync('{"n":1}'), 1), {}, "internal"],
    ["an unknown compression", envelope('{"n":1}'), { "connect-content-encoding": "br" }, "unimplemented"],
    ["no JSON", envelope("{"), {}, "invalid_argument"],
    ["another type", envelope('{"n":"1"}'), {}, "invalid_argument"],
    ["no gzip data", envelope("{}", 1), { "connect-content-encoding": "gzip" }, "invalid_argument"],
    [
      "a bomb",
      envelope(gzipSync(Buffer.alloc(50_000_000)), 1),
      { "connect-content-encoding": "gzip" },
      "resource_exhausted",
    ],
  ] as const)("fail the call: %s", async (_, body, headers, code) => {
    const { url } = await served();
    const { items, end } = await post(`${url}items`, body, headers);
    expect([items, end.error?.code]).toEqual([[], code]);
    // The server lives.
    expect((await post(`${url}items`, envelope('{"n":0}'))).end).toEqual({});
  });
});

type Head = readonly [status: number | undefined, type: unknown];

function headH1(port: number, path: string): Promise<Head> {
  return new Promise((resolve, reject) => {
    const headers = { accept: "text/event-stream" };
    const sent = request({ port, method: "HEAD", path, headers, agent: false });
    sent.on("response", ({ statusCode, headers: given }) => resolve([statusCode, given["content-type"]]));
    sent.on("error", reject).end();
  });
}

function headH2(port: number, path: string): Promise<Head> {
  return new Promise((resolve, reject) => {
    const session = connectH2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ":method": "HEAD", ":path": path, accept: "text/event-stream" });
    stream.on("response", (given) => resolve([given[":status"], given["content-type"]]));
    stream.on("error", reject);
    stream.on("close", () => session.close());
    stream.resume();
  });
}

describe("server-sent events", () => {
  it("are the items as messages, and an event at the end", async () => {
    const { url } = await served();
    const answer = await fetch(`${url}items?message=${encodeURIComponent('{"n":2}')}`, {
      headers: { accept: "text/event-stream" },
    });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toBe('data: {"i":0}\n\ndata: {"i":1}\n\nevent: end\nid: end\ndata: \n\n');
  });

  it("tell of an error, and begin no second time", async () => {
    const { url } = await served();
    const headers = { accept: "text/event-stream" };
    const answer = await fetch(`${url}items?message=${encodeURIComponent('{"n":"x"}')}`, { headers });
    expect(await answer.text()).toMatch(/^event: error\nid: end\ndata: {"code":"invalid_argument"/);
    const again = await fetch(`${url}items?message=%7B%7D`, { headers: { ...headers, "last-event-id": "end" } });
    expect(again.status).toBe(204);
  });

  it("have the cursors of items as ids, and go on after the one that a browser sends", async () => {
    const { url } = await served();
    const target = `${url}follow?message=${encodeURIComponent('{"upTo":3,"breakAfter":2}')}`;
    const headers = { accept: "text/event-stream" };
    const first = await (await fetch(target, { headers })).text();
    expect(first).toMatch(/^id: 1\ndata: {"i":1}\n\nid: 2\ndata: {"i":2}\n\nevent: error\ndata: {"code":"unavailable"/);
    const rest = await (await fetch(target, { headers: { ...headers, "last-event-id": "2" } })).text();
    expect(rest).toBe('id: 3\ndata: {"i":3}\n\nevent: end\nid: end\ndata: \n\n');
  });

  it("are explained to who opens the URL otherwise", async () => {
    const { url } = await served();
    expect(await (await fetch(`${url}items`)).text()).toContain("accept: text/event-stream");
    expect((await fetch(`${url}sum`)).status).toBe(405);
  });

  it("have a head without a body, for which no handler runs", async () => {
    for (const http2 of [undefined, ...HTTP2_WAYS]) {
      const { port, seen } = await served({}, http2);
      const target = "/test.v1.Http/endless?message=%7B%7D";
      const [status, type] = await (http2 === undefined ? headH1 : headH2)(port, target);
      expect([status, type, seen.given]).toEqual([200, "text/event-stream", 0]);
    }
  });

  it("and what else the URL answers are kept by no cache, which would give it to others", async () => {
    const { url } = await served();
    const target = `${url}items?message=${encodeURIComponent('{"n":2}')}`;
    const events = { accept: "text/event-stream" };
    for (const headers of [events, { ...events, "last-event-id": "end" }, {}]) {
      expect((await fetch(target, { headers })).headers.get("cache-control")).toBe("no-store");
    }
    expect((await fetch(`${url}missing`)).headers.get("cache-control")).toBe("no-store");
  });
});
