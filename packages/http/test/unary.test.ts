// Calls of one message each way, against a real server of node:http, by fetch and by hand.
import { type Interceptor, RpcError } from "@quicrpc/core";
import { once } from "node:events";
import { createServer } from "node:http";
import { type ClientHttp2Session, connect as connectH2 } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { createFetchHandler, type HttpServiceOptions, toNodeHandler } from "@quicrpc/http";
import { readStruct } from "../src/protocol/struct.js";
import { HTTP2_WAYS, servingInTests } from "./service.js";

const served = servingInTests();

const json = { "content-type": "application/json" };

function post(url: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: "POST", body: body as BodyInit, headers: { ...json, ...headers } });
}

/** The status of a request whose target is sent as it is. */
async function statusOf(port: number, method: string, target: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  const head = `${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n`;
  socket.end(`${head}content-type: application/json\r\ncontent-length: 12\r\n\r\n{"text":"a"}`);
  return Number((await readText(socket)).split(" ")[1]);
}

const pass: Interceptor = (call, next) => next(call);

/** The length that an answer says, and its text: by fetch, or by a session of HTTP/2. */
async function answerTo(session: ClientHttp2Session | undefined, url: string, body: string): Promise<[number, string]> {
  if (session === undefined) {
    const answer = await post(url, body);
    return [Number(answer.headers.get("content-length")), await answer.text()];
  }
  const stream = session.request({ ":method": "POST", ":path": new URL(url).pathname, ...json });
  stream.end(body);
  const [[head], text] = (await Promise.all([once(stream, "response"), readText(stream)])) as [
    [Record<string, string>],
    string,
  ];
  return [Number(head["content-length"]), text];
}

describe("a unary call", () => {
  it("takes and gives JSON", async () => {
    const { url } = await served();
    const answer = await post(`${url}echo`, '{"text":"héllo"}');
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({ text: "héllo" });
  });

  it("writes dates, bytes and large integers as people do", async () => {
    const { url } = await served();
    const given = { at: "2026-01-31T12:00:00.000Z", data: "AAH/", big: "9007199254740993" };
    const answer = await post(`${url}kinds`, JSON.stringify(given));
    expect(await answer.json()).toEqual(given);
  });

  it.each([undefined, ...HTTP2_WAYS])("is answered with all of its characters, short or long: %s", async (http2) => {
    const { url } = await served({ compressFrom: Infinity }, http2);
    const session = http2 && connectH2(new URL(url).origin);
    for (const text of [
      "a",
      "é",
      "€\u0000\ud83d\ude00",
      "\ud800",
      "x".repeat(2000),
      "é".repeat(900),
      "€".repeat(2000),
    ]) {
      const body = JSON.stringify({ text });
      expect(await answerTo(session, `${url}echo`, body)).toEqual([Buffer.byteLength(body), body]);
    }
    session?.close();
  });

  it("of a method without messages takes and gives an empty object", async () => {
    const { url } = await served();
    for (const body of ["{}", ""]) {
      const answer = await post(`${url}nothing`, body);
      expect([answer.status, await answer.text()]).toEqual([200, "{}"]);
    }
  });

  it("carries metadata and trailers as headers", async () => {
    const { url } = await served();
    const answer = await post(`${url}metadata`, "{}", { "x-mine": "1", authorization: "Bearer a", "x-raw-bin": "/wA" });
    expect(await answer.json()).toMatchObject({ "x-mine": "1", authorization: "Bearer a", "x-raw-bin": "255,0" });
    expect(answer.headers.get("x-said")).toBe("head");
    expect(answer.headers.get("x-bytes-bin")).toBe("/wA");
    expect(answer.headers.get("trailer-x-cost")).toBe("7");
  });

  it("tells of a declared error in details that anybody can read", async () => {
    const { url } = await served();
    const answer = await post(`${url}fail`, "{}");
    expect(answer.status).toBe(400);
    const error = (await answer.json()) as { code: string; message: string; details: { value: string }[] };
    const debug = { reason: "EMPTY", details: { left: 3, at: "1970-01-01T00:00:00.000Z" } };
    expect(error).toMatchObject({ code: "failed_precondition", message: "none left" });
    expect(error.details).toMatchObject([{ type: "google.protobuf.Struct", debug }]);
    expect(readStruct(Buffer.from(error.details[0]?.value ?? "", "base64"))).toEqual(debug);
  });

  it("keeps what a handler threw from its caller, and tells the hook", async () => {
    const { url, errors } = await served();
    const answer = await post(`${url}crash`, "{}");
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ code: "internal", message: "the handler failed" });
    expect(errors).toEqual(["test.v1.Http/crash: Error: a secret"]);
  });

  it("fails by its deadline, and its handler is told", async () => {
    const { url, seen, until } = await served();
    const answer = await post(`${url}wait`, "{}", { "connect-timeout-ms": "50" });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toEqual({ code: "deadline_exceeded", message: "the deadline has passed" });
    await until(({ aborted }) => aborted.length > 0);
    expect(seen.aborted).toEqual(["deadline_exceeded"]);
  });

  it("of a client that goes away aborts its handler", async () => {
    const { url, seen, until } = await served();
    const controller = new AbortController();
    const answer = fetch(`${url}wait`, { method: "POST", body: "{}", headers: json, signal: controller.signal });
    await until(({ waiting }) => waiting === 1);
    controller.abort();
    await expect(answer).rejects.toThrow(/abort/);
    await until(({ aborted }) => aborted.length > 0);
    expect(seen.aborted).toEqual(["cancelled"]);
  });

  it("is compressed both ways where that is agreed", async () => {
    const { url } = await served({ compressFrom: 10 });
    const body = gzipSync(JSON.stringify({ text: "x".repeat(5000) }));
    const answer = await post(`${url}echo`, body, { "content-encoding": "gzip" });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(await answer.json()).toEqual({ text: "x".repeat(5000) });
  });

  it("of notifications is answered when the handler has them", async () => {
    const { url, seen } = await served();
    const answer = await post(`${url}note`, '{"text":"hi"}');
    expect([answer.status, await answer.text()]).toEqual([200, "{}"]);
    expect(seen.notes).toEqual(["hi"]);
  });

  it("of notifications is answered before its handler has ended, and what that fails with goes to the hook", async () => {
    let fail!: (error: Error) => void;
    const interceptors: Interceptor[] = [() => new Promise((_, reject) => (fail = reject))];
    const { url, errors, handler } = await served({ interceptors });
    const answer = await post(`${url}note`, '{"text":"hi"}');
    expect([answer.status, await answer.text()]).toEqual([200, "{}"]);
    const drained = handler.drain();
    fail(new Error("bad note"));
    await drained;
    expect(errors).toEqual(["test.v1.Http/note: Error: bad note"]);
  });

  it("is made by GET, in JSON where the query does not say", async () => {
    const { url } = await served();
    const answer = await fetch(`${url}echo?message=${encodeURIComponent('{"text":"a b"}')}`);
    expect(await answer.json()).toEqual({ text: "a b" });
  });

  it("is made by GET where it changes nothing", async () => {
    const { url } = await served();
    const plain = await fetch(`${url}echo?encoding=json&message=${encodeURIComponent('{"text":"a b"}')}`);
    expect(await plain.json()).toEqual({ text: "a b" });
    const packed = gzipSync('{"text":"packed"}').toString("base64url");
    const compressed = await fetch(`${url}echo?connect=v1&base64=1&compression=gzip&encoding=json&message=${packed}`, {
      headers: { "accept-encoding": "identity" },
    });
    expect(await compressed.json()).toEqual({ text: "packed" });
    const head = await fetch(`${url}echo?encoding=json&message=%7B%22text%22%3A%22%22%7D`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("vary")).toBe(plain.headers.get("vary"));
  });
});

describe("a wrong request", () => {
  it("to an unknown path is told what is missing: a caller by an error, a browser by a text", async () => {
    const { url } = await served();
    const answer = await post(`${url}missing`, "{}");
    expect(answer.status).toBe(404);
    const message = "service test.v1.Http has no method missing here";
    expect(await answer.json()).toEqual({ code: "unimplemented", message });
    expect(await (await fetch(`${url}missing`)).text()).toBe(`${message}\n`);
    const elsewhere = await post(new URL("/test.v1.None/a", url).href, "{}");
    expect(await elsewhere.json()).toMatchObject({ message: "no service test.v1.None is served here" });
    expect(await (await fetch(new URL("/a", url))).text()).toBe(
      "nothing is served at /a: calls go to /package.Service/method\n",
    );
    for (const path of ["__proto__", "constructor", "%zz", "..%2f"]) {
      expect((await post(`${url}${path}`, "{}")).status).toBe(404);
    }
  });

  it.each([
    "/test.v1.Http/%65cho",
    "/test%2Ev1.Http/echo",
    "/test.v1.Http%2Fecho",
    "/%74est.v1.Http/echo",
    "//test.v1.Http/echo",
    "/test.v1.Http//echo",
    "/./test.v1.Http/echo",
    "/a/../test.v1.Http/echo",
    "/test.v1.Http/a/%2e%2e/echo",
    "/test.v1.Http/echo/",
    "/test.v1.Http/echo/.",
    "/test.v1.Http/Echo",
    "/TEST.V1.HTTP/echo",
    "/test.v1.Http/echo;a",
    "/test.v1.Http/echo#a",
    "/test.v1.Http\\echo",
    "/test.v1.Http/echo%00",
    "/test.v1.Http/echo%3F",
    "/%6fpenapi.json",
    "//openapi.json",
    "/openapi.json/",
    "/extra%2Fpage",
    "/%65xtra/page",
  ])("is served by the one spelling of its path, and not by %s", async (target) => {
    const extra = { path: "/extra/page", start: () => async () => new Response("here") };
    const { url } = await served({ openApi: true, extensions: [extra] });
    expect((await post(`${url}echo`, '{"text":"a"}')).status).toBe(200);
    expect((await fetch(new URL("/openapi.json", url))).status).toBe(200);
    expect((await fetch(new URL("/extra/page", url))).status).toBe(200);
    for (const method of ["POST", "GET"]) expect(await statusOf(Number(new URL(url).port), method, target)).toBe(404);
  });

  it("names the services beside reflection to everybody, unless the server asks who calls", async () => {
    const list = { list: defineMethod({ name: "quicrpc.v1.Reflection", id: 1 }, "unary", "list", { id: 1 }) };
    const routers = [createRouter(list, { list: () => undefined })];
    const told = async (options: Partial<HttpServiceOptions>): Promise<string> => {
      const handler = createFetchHandler({ routers, ...options });
      const answer = await handler(new Request("http://localhost/test.v1.None/a", { method: "POST", headers: json }));
      return ((await answer.json()) as { message: string }).message;
    };
    expect(await told({})).toContain("quicrpc.v1.Reflection");
    for (const guarded of [{ authenticate: () => "somebody" }, { interceptors: [pass] }])
      expect(await told(guarded)).toBe("no service test.v1.None is served here");
  });

  it("with another verb is told which there are", async () => {
    const { url } = await served();
    for (const [method, path, allow] of [
      ["PUT", "change", "POST"],
      ["GET", "change", "POST"],
      ["DELETE", "echo", "GET, HEAD, POST"],
    ] as const) {
      const answer = await fetch(url + path, { method: method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    }
  });

  it("with another content type is told which there are", async () => {
    const { url } = await served();
    for (const type of [
      "text/plain",
      "application/connect+json",
      "application/proto",
      "application/json; charset=latin1",
    ]) {
      const answer = await fetch(`${url}echo`, { method: "POST", body: "{}", headers: { "content-type": type } });
      expect(answer.status).toBe(415);
      expect(answer.headers.get("accept-post")).toBe("application/json, application/msgpack");
      expect(await answer.text()).toContain("-H 'content-type: application/json' -d '{}'");
    }
  });

  it("from a browser's address bar gets a text that says how to call", async () => {
    const { url } = await served();
    const answer = await fetch(`${url}echo`, { headers: { accept: "text/html" } });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(`curl ${url}echo -H 'content-type: application/json' -d '{}'`);
  });

  it.each([
    ["no JSON", "{", {}, 400, /not JSON/],
    ["bytes that are no UTF-8", Buffer.from('{"text":"\xff"}', "latin1"), {}, 400, /not UTF-8/],
    ["JSON after the message", "{} {}", {}, 400, /not JSON/],
    ["another type", '{"text":1}', {}, 400, /string, received number at text/],
    ["a missing field", "{}", {}, 400, /text/],
    ["too deep", "[".repeat(5000), {}, 400, /./],
    ["a timeout that is none", '{"text":""}', { "connect-timeout-ms": "-1" }, 400, /connect-timeout-ms/],
    ["another version", '{"text":""}', { "connect-protocol-version": "2" }, 400, /connect-protocol-version/],
    ["an unknown compression", "x", { "content-encoding": "br" }, 501, /gzip/],
    ["no gzip data", "x", { "content-encoding": "gzip" }, 400, /gzip/],
  ])("with %s gets the protocol's error", async (_, body, headers, status, message) => {
    const { url } = await served();
    const answer = await post(`${url}echo`, body, headers);
    expect(answer.status).toBe(status);
    expect(((await answer.json()) as { message: string }).message).toMatch(message);
  });

  it("names the field, and gives prototypes no chance", async () => {
    const { url } = await served();
    const answer = await post(`${url}echo`, '{"__proto__":{"text":"x"},"constructor":1}');
    expect(answer.status).toBe(400);
    expect(JSON.stringify(await answer.json())).toContain('"text"');
    expect(({} as { text?: string }).text).toBeUndefined();
  });
});

describe("limits", () => {
  it("of the message, as it is sent and once it is decompressed", async () => {
    const { url } = await served({ limits: { maxFrameBytes: 1000, maxDecompressedBytes: 2000 } });
    const large = JSON.stringify({ text: "x".repeat(1500) });
    for (const [body, headers, limit] of [
      [large, {}, "1000 bytes (limits.maxFrameBytes)"],
      [
        gzipSync(JSON.stringify({ text: "x".repeat(100_000) })).subarray(0),
        { "content-encoding": "gzip" },
        "2000 bytes (limits.maxDecompressedBytes)",
      ],
    ] as const) {
      const answer = await post(`${url}echo`, body, headers);
      expect(answer.status).toBe(429);
      const message = expect.stringContaining(limit);
      expect(await answer.json()).toMatchObject({ code: "resource_exhausted", message });
    }
    // Small when sent, and small enough once it is not.
    const fits = await post(`${url}change`, gzipSync(JSON.stringify({ text: "" })), { "content-encoding": "gzip" });
    expect(fits.status).toBe(200);
  });

  it("of a message that says how large it will be: it is refused before it is sent", async () => {
    const { port } = await served({ limits: { maxFrameBytes: 1000 } });
    const socket = connect(port, "127.0.0.1");
    const head = "POST /test.v1.Http/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    socket.write(`${head}\r\ncontent-length: 1001\r\n\r\n{`);
    expect(await readText(socket)).toMatch(/^HTTP\/1\.1 429 [^]*"a message is larger than 1000 bytes/);
  });

  it("of an answer, which is none of the request", async () => {
    const body = '{"at":"2026-01-31T12:00:00Z","data":"AAH/","big":7}';
    const { url } = await served({ limits: { maxFrameBytes: body.length } });
    const answer = await post(`${url}kinds`, body);
    expect([answer.status, await answer.json()]).toMatchObject([429, { code: "resource_exhausted" }]);
  });

  it("of the time that a body takes", async () => {
    const { url } = await served({ maxBodyMs: 50 });
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) });
    const answer = await fetch(`${url}echo`, { method: "POST", body, headers: json, duplex: "half" } as RequestInit);
    expect(answer.status).toBe(504);
    expect(((await answer.json()) as { message: string }).message).toContain("maxBodyMs");
  });

  it("of calls at once: others are refused, and may be made again", async () => {
    const { url, until } = await served({ limits: { maxCalls: 1 } });
    const controller = new AbortController();
    const first = fetch(`${url}wait`, { method: "POST", body: "{}", headers: json, signal: controller.signal });
    await until(({ waiting }) => waiting === 1);
    const second = await post(`${url}echo`, '{"text":""}');
    expect(second.status).toBe(429);
    expect(second.headers.get("quicrpc-refused")).toBe("1");
    controller.abort();
    await first.catch(() => {});
    await until(({ aborted }) => aborted.length === 1);
    expect((await post(`${url}echo`, '{"text":""}')).status).toBe(200);
  });

  it("of memory: what is held while bodies arrive counts", async () => {
    const { url } = await served({ limits: { maxSessionBytes: 100_000, maxServerBytes: 1_000_000 } });
    const answer = await post(`${url}echo`, JSON.stringify({ text: "x".repeat(200_000) }));
    expect(answer.status).toBe(429);
    expect(((await answer.json()) as { message: string }).message).toContain("limits.maxSessionBytes");
  });
});

describe("a drain", () => {
  it("refuses calls, lets those in progress end, and fails what takes too long", async () => {
    const { url, handler, until } = await served();
    const call = post(`${url}wait`, "{}");
    await until(({ waiting }) => waiting === 1);
    expect(handler.ready).toBe(true);
    const drained = handler.drain({ timeoutMs: 100 });
    expect(handler.ready).toBe(false);
    const refused = await post(`${url}echo`, '{"text":""}');
    expect(refused.status).toBe(503);
    const answer = await call;
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
    await drained;
  });
});

describe("a drain", () => {
  it("waits for answers that are being compressed", async () => {
    const order: string[] = [];
    let drained: Promise<unknown> | undefined;
    const { url, handler } = await served({
      compressFrom: 0,
      interceptors: [
        async (call, next) => {
          const answer = await next(call);
          drained = handler.drain().then(() => order.push("drained"));
          return answer;
        },
      ],
    });
    const request = new Request(`${url}echo`, {
      method: "POST",
      body: '{"text":"a"}',
      headers: { ...json, "accept-encoding": "gzip" },
    });
    expect((await handler(request).finally(() => order.push("answer"))).status).toBe(200);
    await drained;
    expect(order).toEqual(["answer", "drained"]);
  });

  it("refuses requests that have not arrived", async () => {
    const { url, handler } = await served();
    let pulled!: () => void;
    const arriving = new Promise<void>((resolve) => (pulled = resolve));
    const body = new ReadableStream({ pull: () => pulled() }, { highWaterMark: 0 });
    const init = { method: "POST", body, headers: json, duplex: "half" };
    const answer = handler(new Request(`${url}echo`, init));
    await arriving;
    await handler.drain();
    expect([(await answer).status, (await answer).headers.get("quicrpc-refused")]).toEqual([503, "1"]);
  });
});

describe("load shedding", () => {
  it("refuses calls rather than serving them late", async () => {
    const { url, until } = await served({ loadShedding: { maxCalls: 1 } });
    const controller = new AbortController();
    const first = fetch(`${url}wait`, { method: "POST", body: "{}", headers: json, signal: controller.signal });
    await until(({ waiting }) => waiting === 1);
    const second = await post(`${url}echo`, '{"text":""}');
    expect([second.status, second.headers.get("quicrpc-refused")]).toEqual([503, "1"]);
    expect(((await second.json()) as { message: string }).message).toContain("loadShedding.maxCalls");
    controller.abort();
    await first.catch(() => {});
  });
});

describe("a handler among others", () => {
  it("passes on what is not its own", async () => {
    const { handler } = await served();
    const passed: string[] = [];
    const listener = toNodeHandler(handler);
    const server = createServer((request, response) =>
      listener(request, response, () => {
        passed.push(request.url ?? "");
        response.end("else");
      }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const base = `http://127.0.0.1:${port}`;
    expect(await (await fetch(`${base}/assets/a.js`, { headers: { origin: "https://other.example" } })).text()).toBe(
      "else",
    );
    expect((await post(`${base}/test.v1.Http/echo`, '{"text":""}')).status).toBe(200);
    expect(passed).toEqual(["/assets/a.js"]);
    server.close();
  });
});

describe("authenticate", () => {
  it("is called for so many at once, the others wait, and those whose time is over fail", async () => {
    let pass!: () => void;
    const passed = new Promise<void>((resolve) => (pass = resolve));
    let running = 0;
    let most = 0;
    const signals: AbortSignal[] = [];
    const { url } = await served({
      limits: { maxAuthentications: 2 },
      async authenticate(_, signal) {
        signals.push(signal);
        most = Math.max(most, ++running);
        await passed;
        running--;
      },
    });
    const late = await Promise.all([1, 2, 3].map(() => post(`${url}nothing`, "{}", { "connect-timeout-ms": "100" })));
    expect(late.map(({ status }) => status)).toEqual([504, 504, 504]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    // Those that nobody waits for count until they have settled.
    const calls = [1, 2, 3].map(() => post(`${url}nothing`, "{}"));
    pass();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect([most, signals.length]).toEqual([2, 5]);
  });

  it("decides for each request, by its headers", async () => {
    const { url, errors } = await served({
      authenticate({ headers, method }) {
        if (headers.get("authorization") === "Bearer good") return method;
        if (headers.get("authorization") === "Bearer odd") throw new Error("a secret");
        throw new RpcError("unauthenticated", "who are you?");
      },
    });
    const call = (token: string): Promise<Response> =>
      post(`${url}nothing`, "{}", { authorization: `Bearer ${token}` });
    expect((await call("good")).status).toBe(200);
    const bad = await call("bad");
    expect([bad.status, await bad.json()]).toEqual([401, { code: "unauthenticated", message: "who are you?" }]);
    expect((await call("odd")).status).toBe(500);
    expect(errors).toEqual(["authenticate: Error: a secret"]);
  });

  it("takes of the caller's time: a body that is complete after the deadline reaches no handler", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);
    let entered = false;
    const nothing = defineMethod({ name: "test.v1.Late", id: 7300 }, "unary", "nothing", { id: 1 });
    const handler = createFetchHandler({
      routers: [createRouter({ nothing }, { nothing: () => void (entered = true) })],
      authenticate: () => pass(250),
    });
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      pass(100);
      controller.enqueue(new TextEncoder().encode("{}"));
      controller.close();
    };
    const headers = { "content-type": "application/json", "connect-timeout-ms": "300" };
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const request = new Request("http://localhost/test.v1.Late/nothing", {
      method: "POST",
      headers,
      body,
      duplex: "half",
    } as RequestInit);
    expect([(await handler(request)).status, entered]).toEqual([504, false]);
  });

  it("keeps answers to GET out of caches that others share, unless the handler says otherwise", async () => {
    const control = async (options: Partial<HttpServiceOptions>): Promise<string | null> => {
      const { url } = await served(options);
      const answer = await fetch(`${url}echo?message=${encodeURIComponent('{"text":"a"}')}`);
      return answer.headers.get("cache-control");
    };
    const authenticate = (): string => "somebody";
    const said: Interceptor = (call, next) => {
      call.context?.responseMetadata.append("cache-control", "public, max-age=60");
      return next(call);
    };
    expect(await control({})).toBeNull();
    expect(await control({ authenticate })).toBe("private");
    expect(await control({ authenticate, interceptors: [said] })).toBe("public, max-age=60");
  });
});

describe("MessagePack", () => {
  it("is taken and given like JSON", async () => {
    const { url } = await served();
    const body = Uint8Array.of(0x81, 0xa4, 0x74, 0x65, 0x78, 0x74, 0xa2, 0x68, 0x69);
    const answer = await post(`${url}echo`, body, { "content-type": "application/msgpack" });
    expect(answer.headers.get("content-type")).toBe("application/msgpack");
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(body);
  });
});
