// A client and whatever may answer it: `fetch` is a function of each test.
import { createCaller, type CallOptions, Metadata, RpcError } from "@quicrpc/core";
import { defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { pack, unpack } from "@quicrpc/core/internal";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { connectDetails } from "../protocol/connect-details.js";
import { gzip } from "../protocol/compression.js";
import { writeEndOfStream } from "../protocol/end-of-stream.js";
import { ENVELOPE_COMPRESSED, FLAG_END, readEnvelopes, writeEnvelope } from "../protocol/envelope.js";
import { errorToJson, jsonBytes } from "../protocol/error-json.js";
import { readGetQuery } from "../protocol/get-query.js";
import { packedDetail } from "../protocol/packed-detail.js";
import { structDetail } from "../protocol/struct-detail.js";
import { httpTransport } from "./http-transport.js";
import type { FetchInit, HttpOptions } from "./options.js";
import { plainJson } from "./plain-json.js";

const service = { name: "demo.v1.Demo", id: 7 };
const text = zodCodec(z.object({ text: z.string() }));
const number = zodCodec(z.number());
const errors = { EMPTY: { code: "invalid_argument", details: zodCodec(z.object({ at: z.date() })) } } as const;

const echo = defineMethod(service, "unary", "echo", { id: 1, input: text, output: text, errors, readOnly: true });
const log = defineMethod(service, "notify", "log", { id: 2, input: text });
const count = defineMethod(service, "server_stream", "count", { id: 3, input: number, output: number });
const sum = defineMethod(service, "client_stream", "sum", { id: 4, input: number, output: number });
const chat = defineMethod(service, "duplex", "chat", { id: 5, input: number, output: number });

type Answer = (url: URL, init: FetchInit) => Response | Promise<Response>;

function callerOf(answer: Answer, options: HttpOptions = {}) {
  const fetch = async (url: string, init: FetchInit): Promise<Response> => answer(new URL(url), init);
  const client = httpTransport({ fetch, uploads: "full", ...options }).caller("http://orders.example/rpc?x=1");
  return Object.assign(
    createCaller((method, input, more) => client.start(method, input, more)),
    { client },
  );
}

const MSGPACK = { "content-type": "application/msgpack" };
const STREAM = { "content-type": "application/connect+msgpack" };

const answerOf = (value: unknown, headers: Record<string, string> = {}): Response =>
  new Response(pack(value).slice(), { headers: { ...MSGPACK, ...headers } });

const item = (value: unknown): Uint8Array => writeEnvelope({ flags: 0, bytes: pack(value) });
const end = (error?: RpcError, trailers = new Metadata()): Uint8Array => {
  const json = error === undefined ? undefined : errorToJson(error);
  return writeEnvelope({ flags: FLAG_END, bytes: writeEndOfStream({ error: json, trailers }) });
};

function streamOf(...pieces: Uint8Array[]): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
  return new Response(body, { headers: { ...STREAM, "x-head": "1" } });
}

/** Never answers, whatever becomes of its signal. */
const silent: Answer = () => new Promise(() => {});

async function failure(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Returns `target` with a property that throws when it is read. */
function withThrowing<T extends object>(target: T, property: string): T {
  return Object.defineProperty(target, property, {
    get() {
      throw new Error("not to be read");
    },
  });
}

async function collect<T>(items: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const each of items) into.push(each);
  return into;
}

describe("a unary call", () => {
  it("is a POST request with its metadata, its deadline and a token", async () => {
    let seen: [URL, FetchInit] | undefined;
    const caller = callerOf(
      (...given) => {
        seen = given;
        return answerOf({ text: "b" }, { "x-head": "1", "trailer-x-cost": "2", date: "today" });
      },
      { credentials: async () => "secret", headers: { "x-client": "web" } },
    );
    const heads: Metadata[] = [];
    const options: CallOptions = {
      timeoutMs: 5000,
      metadata: { "x-a": "1", "x-b-bin": Uint8Array.of(1, 2, 3) },
      onResponseMetadata: (metadata) => heads.push(metadata),
      onTrailers: (trailers) => heads.push(trailers),
    };
    expect(await caller.unary(echo, { text: "a" }, options)).toEqual({ text: "b" });
    const [url, { method, headers, body }] = seen as [URL, FetchInit];
    expect([method, url.href]).toEqual(["POST", "http://orders.example/rpc/demo.v1.Demo/echo"]);
    expect(Object.fromEntries(headers)).toEqual({
      authorization: "Bearer secret",
      "connect-protocol-version": "1",
      "connect-timeout-ms": "5000",
      "content-type": "application/msgpack",
      "x-a": "1",
      "x-b-bin": "AQID",
      "x-client": "web",
    });
    const sent = body as Uint8Array;
    expect(unpack(sent, 0, sent.length)).toEqual({ text: "a" });
    expect(heads.map((each) => [...each])).toEqual([[["x-head", "1"]], [["x-cost", "2"]]]);
  });

  it("is a GET request where that is wanted, the method is idempotent and the URL is short", async () => {
    const methods: string[] = [];
    const caller = callerOf(
      ({ searchParams }, { method, body }) => {
        methods.push(method);
        const bytes = method === "GET" ? readGetQuery(searchParams).message : (body as Uint8Array);
        return answerOf(unpack(bytes, 0, bytes.length));
      },
      { get: true },
    );
    expect(await caller.unary(echo, { text: "ü" })).toEqual({ text: "ü" });
    await caller.unary(echo, { text: "long".repeat(2000) });
    await caller.notify(log, { text: "" });
    expect(methods).toEqual(["GET", "POST", "POST"]);
  });

  it("is compressed where that is wanted", async () => {
    const sizes: (string | null)[] = [];
    const caller = callerOf(
      async (_, { headers, body }) => {
        sizes.push(headers.get("content-encoding"));
        const bytes = sizes.at(-1) === "gzip" ? await gzip.decompress(body as Uint8Array, 1e6) : (body as Uint8Array);
        return answerOf(unpack(bytes, 0, bytes.length));
      },
      { compression: { algorithms: [gzip] } },
    );
    for (const [length, compress] of [[10], [5000], [10, true], [5000, false]] as [number, boolean?][]) {
      const given = { text: "x".repeat(length) };
      expect(await caller.unary(echo, given, { compress })).toEqual(given);
    }
    expect(sizes).toEqual([null, "gzip", "gzip", null]);
  });

  it("fails with what the server declared, and its trailers", async () => {
    const at = new Date(5);
    const error = new RpcError("invalid_argument", "it is empty", { reason: "EMPTY", details: { at } });
    const json = errorToJson(error, [packedDetail(error, echo) as never]);
    const caller = callerOf(() =>
      Response.json(json, { status: 400, headers: { "trailer-x-cost": "1", "quicrpc-refused": "1" } }),
    );
    const failed = await failure(caller.unary(echo, { text: "" }));
    expect(failed).toMatchObject({
      code: "invalid_argument",
      message: "it is empty",
      reason: "EMPTY",
      details: { at },
    });
    expect(failed).toMatchObject({ method: "demo.v1.Demo/echo", peer: "http://orders.example/rpc", refused: true });
    expect([...failed.metadata]).toEqual([["x-cost", "1"]]);
  });

  it("keeps the details of servers of others", async () => {
    const details = [{ type: "google.rpc.RetryInfo", value: "CgIIPA" }];
    const caller = callerOf(() => Response.json({ code: "unavailable", details }, { status: 503 }));
    const error = await failure(caller.unary(echo, { text: "" }));
    expect(error).toMatchObject({ code: "unavailable", message: "", details: undefined });
    expect(connectDetails(error)).toEqual([
      { type: "google.rpc.RetryInfo", value: Uint8Array.of(10, 2, 8, 60), debug: undefined },
    ]);
  });

  it.each([
    [
      "a page",
      new Response("<html>", { headers: { "content-type": "text/html" } }),
      "unknown",
      /status 200 and "text\/html"/,
    ],
    ["a proxy's error", new Response("no", { status: 502 }), "unavailable", /status 502/],
    [
      "another's JSON",
      Response.json({ error: "x" }, { status: 404 }),
      "unimplemented",
      /status 404 and "application\/json"/,
    ],
    ["null", Response.json(null, { status: 401 }), "unauthenticated", /status 401/],
    [
      "a redirect",
      new Response(null, { status: 308, headers: { location: "https://b/" } }),
      "unknown",
      /redirects to "https:\/\/b\/"/,
    ],
    ["another codec", Response.json({ text: "a" }), "internal", /application\/json/],
    ["bytes that are none", new Response("{", { headers: MSGPACK }), "internal", /demo.v1.Demo\/echo cannot be read/],
    ["a message that does not fit", answerOf({ text: 1 }), "internal", /cannot be read/],
    ["another compression", answerOf({ text: "a" }, { "content-encoding": "rot13" }), "internal", /"rot13"/],
    [
      "a message that is too large",
      answerOf({ text: "a".repeat(2000) }),
      "resource_exhausted",
      /larger than 1000 bytes/,
    ],
    ["broken metadata", answerOf({ text: "a" }, { "x-bin": "?" }), "internal", /base64/],
  ] as const)("of which %s comes back fails, and says so", async (_, response, code, message) => {
    const caller = callerOf(() => response.clone(), { limits: { maxFrameBytes: 1000 } });
    const failed = await failure(caller.unary(echo, { text: "a" }));
    expect(failed).toMatchObject({ code, method: "demo.v1.Demo/echo", peer: "http://orders.example/rpc" });
    expect(failed.message).toMatch(message);
  });

  it.each([
    ["a revoked proxy", () => revoked(), "unreadable error"],
    ["an error whose cause throws", () => withThrowing(new Error("no route"), "cause"), "unreadable error"],
    [
      "an error whose cause's code throws",
      () => new Error("no route", { cause: withThrowing({}, "code") }),
      "no route",
    ],
    ["an error whose cause is a revoked proxy", () => new Error("no route", { cause: revoked() }), "no route"],
    ["an error whose message throws", () => withThrowing(new Error(), "message"), "unreadable error"],
    ["text", () => "no route", "no route"],
  ])("fails as any call without an answer does if fetch throws %s", async (_, thrown, why) => {
    const caller = callerOf(() => {
      throw thrown();
    });
    const failed = await failure(caller.unary(echo, { text: "a" }));
    expect(failed).toMatchObject({ code: "unavailable", refused: false });
    expect(failed.message).toContain(`no answer by HTTP from http://orders.example/rpc: ${why}`);
  });

  it("fails without an answer, and says whether the request has left", async () => {
    for (const [code, refused] of [
      ["ECONNREFUSED", true],
      ["ECONNRESET", false],
    ]) {
      const cause = Object.assign(new Error(`connect ${String(code)}`), { code });
      const caller = callerOf(() => Promise.reject(new TypeError("fetch failed", { cause })));
      const failed = await failure(caller.unary(echo, { text: "" }));
      expect(failed).toMatchObject({ code: "unavailable", refused });
      expect(failed.message).toContain(String(code));
    }
  });

  it("that cannot be sent fails before anything is", async () => {
    const caller = callerOf(() => expect.unreachable(), { limits: { maxFrameBytes: 100, maxMetadataBytes: 50 } });
    const attempts: [unknown, CallOptions?][] = [
      [{ text: 1 }],
      [{ text: "a".repeat(100) }],
      [{ text: "" }, { metadata: { "x-a": "größe" } }],
      [{ text: "" }, { metadata: { "x-a": "a".repeat(60) } }],
      [{ text: "" }, { timeoutMs: 0 }],
      [{ text: "" }, { signal: AbortSignal.abort() }],
    ];
    const codes = [];
    for (const [input, options] of attempts) {
      codes.push((await failure(caller.unary(echo, input as { text: string }, options))).code);
    }
    expect(codes).toEqual([
      "invalid_argument",
      "resource_exhausted",
      "invalid_argument",
      "resource_exhausted",
      "deadline_exceeded",
      "cancelled",
    ]);
  });
});

it("a deadline beyond the longest delay of a timer is not over at once", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let answer!: (response: Response) => void;
  const caller = callerOf(() => new Promise((resolve) => (answer = resolve)), { limits: { maxTimeoutMs: 2 ** 40 } });
  const answered = caller.unary(echo, { text: "" }, { timeoutMs: 2 ** 40 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1000);
  answer(answerOf({ text: "a" }));
  expect(await answered).toEqual({ text: "a" });
});

it.each([
  ["connect", true],
  [undefined, true],
  ["read", false],
  ["write", false],
])("a call whose connection fails in %s is refused: %s", async (syscall, refused) => {
  const cause = Object.assign(new Error("EHOSTUNREACH"), { code: "EHOSTUNREACH", syscall });
  const caller = callerOf(() => Promise.reject(new TypeError("fetch failed", { cause })));
  expect(await failure(caller.unary(echo, { text: "" }))).toMatchObject({ code: "unavailable", refused });
});

describe("a call that nobody answers", () => {
  const kinds: [string, (caller: ReturnType<typeof callerOf>, options?: CallOptions) => Promise<unknown>][] = [
    ["unary", (caller, options) => caller.unary(echo, { text: "" }, options)],
    ["notify", (caller, options) => caller.notify(log, { text: "" }, options)],
    ["server stream", (caller, options) => collect(caller.serverStream(count, 1, options))],
    ["client stream", (caller, options) => caller.clientStream(sum, [1], options)],
    ["duplex", (caller, options) => collect(caller.duplex(chat, options).readable)],
  ];

  it.each(kinds)("is over with its deadline: %s", async (_, call) => {
    expect(await failure(call(callerOf(silent), { timeoutMs: 20 }))).toMatchObject({ code: "deadline_exceeded" });
  });

  it.each(kinds)("is over with its signal, as is its request: %s", async (_, call) => {
    const controller = new AbortController();
    let aborted!: () => void;
    const gone = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    const caller = callerOf((_url, { signal }) => {
      signal.addEventListener("abort", () => aborted());
      controller.abort();
      return new Promise(() => {});
    });
    expect(await failure(call(caller, { signal: controller.signal }))).toMatchObject({ code: "cancelled" });
    await gone;
  });

  it.each(kinds)("is over when its client is closed, and none is made after that: %s", async (_, call) => {
    const caller = callerOf(() => {
      caller.client.close();
      return new Promise(() => {});
    });
    expect(await failure(call(caller))).toMatchObject({ code: "unavailable", refused: false });
    expect(await failure(call(caller))).toMatchObject({ code: "unavailable", refused: true });
    await caller.client.idle?.();
    expect(await caller.client.closed).toMatchObject({ closeCode: 0 });
  });
});

describe("a server stream", () => {
  it("is its items, in order, with the metadata around them", async () => {
    const bytes = [item(1), item(2), end(undefined, new Metadata({ "x-cost": ["1", "2"] }))];
    const whole = Uint8Array.from(bytes.flatMap((each) => [...each]));
    for (const pieces of [bytes, [whole], Array.from(whole, (byte) => Uint8Array.of(byte))]) {
      const items = callerOf(() => streamOf(...pieces)).serverStream(count, 1);
      expect(await collect(items)).toEqual([1, 2]);
      expect([items.responseMetadata.get("x-head"), items.trailers.getAll("x-cost")]).toEqual(["1", ["1", "2"]]);
    }
  });

  it("sends its input in an envelope", async () => {
    const caller = callerOf(async (_, { headers, body }) => {
      expect(headers.get("content-type")).toBe("application/connect+msgpack");
      expect([...(body as Uint8Array)]).toEqual([...item(3)]);
      return streamOf(end());
    });
    expect(await collect(caller.serverStream(count, 3))).toEqual([]);
  });

  it.each([
    ["an error after items", [item(1), end(new RpcError("aborted", "enough"))], "aborted", /enough/],
    ["no end", [item(1)], "unavailable", /is not complete: it ended before/],
    ["an end within a message", [item(1), item(2).subarray(0, 3)], "unavailable", /is not complete: it ended before/],
    ["an end that is none", [item(1), writeEnvelope({ flags: FLAG_END, bytes: jsonBytes([]) })], "internal", /no JSON/],
    ["an item that does not fit", [item(1), item("two"), end()], "internal", /cannot be read/],
    ["unknown flags", [item(1), writeEnvelope({ flags: 8, bytes: jsonBytes({}) })], "internal", /flags 8/],
    [
      "a compression nobody asked for",
      [item(1), writeEnvelope({ flags: ENVELOPE_COMPRESSED, bytes: pack(2) })],
      "internal",
      /compressed/,
    ],
    ["a large item", [item(1), Uint8Array.of(0, 0, 0, 4, 0)], "resource_exhausted", /larger than 1000/],
  ] as const)("with %s delivers what came, then the error", async (_, pieces, code, message) => {
    const caller = callerOf(() => streamOf(...pieces), { limits: { maxFrameBytes: 1000 } });
    const seen: number[] = [];
    const failed = await failure(collect(caller.serverStream(count, 1), seen));
    expect(seen).toEqual([1]);
    expect(failed).toMatchObject({ code, method: "demo.v1.Demo/count", peer: "http://orders.example/rpc" });
    expect(failed.message).toMatch(message);
  });

  it("that breaks off says so", async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new TypeError("terminated")),
    });
    const caller = callerOf(() => new Response(body, { headers: STREAM }));
    expect(await failure(collect(caller.serverStream(count, 1)))).toMatchObject({
      code: "unavailable",
      message: "the answer of demo.v1.Demo/count is not complete: terminated",
    });
  });

  it("that its reader leaves ends the request", async () => {
    let signal: AbortSignal | undefined;
    const caller = callerOf((_, init) => {
      ({ signal } = init);
      return streamOf(item(1), item(2), end());
    });
    for await (const each of caller.serverStream(count, 1)) {
      expect(each).toBe(1);
      break;
    }
    expect(signal?.aborted).toBe(true);
  });

  it("of compressed items is read", async () => {
    const piece = async (value: unknown): Promise<Uint8Array> =>
      writeEnvelope({ flags: ENVELOPE_COMPRESSED, bytes: await gzip.compress(pack(value)) });
    const caller = callerOf(
      async (_, { headers }) => {
        expect(headers.get("connect-accept-encoding")).toBe("gzip");
        const response = streamOf(await piece(1), item(2), end());
        response.headers.set("connect-content-encoding", "gzip");
        return response;
      },
      { compression: { algorithms: [gzip] } },
    );
    expect(await collect(caller.serverStream(count, 1))).toEqual([1, 2]);
  });
});

/** The numbers that a request streams. */
async function* numbersOf({ body }: FetchInit): AsyncGenerator<number> {
  for await (const { flags, bytes } of readEnvelopes((body as ReadableStream<Uint8Array>).getReader(), 1e6)) {
    const plain = flags === ENVELOPE_COMPRESSED ? await gzip.decompress(bytes, 1e6) : bytes;
    yield unpack(plain, 0, plain.length) as number;
  }
}

describe("a client stream", () => {
  it.each([
    undefined,
    { algorithms: [gzip], minBytes: 0 },
    // Such as `zstd` where the runtime has none.
    { algorithms: [undefined, gzip], minBytes: 0 },
    { algorithms: [undefined] },
  ])("streams its items: %o", async (compression) => {
    const caller = callerOf(
      async (_, init) => {
        expect(init.duplex).toBe("half");
        let total = 0;
        for await (const each of numbersOf(init)) total += each;
        return streamOf(item(total), end());
      },
      { compression },
    );
    const source = Array.from({ length: 1000 }, (_, i) => i);
    expect(await caller.clientStream(sum, source)).toBe(499_500);
    expect(await caller.clientStream(sum, [])).toBe(0);
  });

  it("stops its source when the answer comes first", async () => {
    let stopped = false;
    const source = (async function* () {
      try {
        for (;;) yield 1;
      } finally {
        stopped = true;
      }
    })();
    const caller = callerOf(() => streamOf(item(5), end()));
    expect(await caller.clientStream(sum, source)).toBe(5);
    await expect.poll(() => stopped).toBe(true);
  });

  it.each([
    ["no message", [end()], "unimplemented"],
    ["two messages", [item(1), item(2), end()], "unimplemented"],
    ["an error", [end(new RpcError("aborted", "why"))], "aborted"],
  ] as const)("that is answered by %s fails", async (_, pieces, code) => {
    const caller = callerOf(() => streamOf(...pieces));
    expect(await failure(caller.clientStream(sum, [1]))).toMatchObject({ code, method: "demo.v1.Demo/sum" });
  });

  it("fails with its source, and with an item that does not fit", async () => {
    const answer: Answer = async (_, init) => {
      await collect(numbersOf(init));
      return streamOf(end());
    };
    const broken = (function* () {
      yield 1;
      throw new Error("in the source");
    })();
    const caller = callerOf(answer);
    expect(await failure(caller.clientStream(sum, broken))).toMatchObject({
      code: "unknown",
      message: "in the source",
    });
    expect(await failure(caller.clientStream(sum, ["a" as never]))).toMatchObject({ code: "invalid_argument" });
  });

  it("is refused where fetch streams no requests, and a duplex call where it reads no answer meanwhile", async () => {
    const none = callerOf(() => expect.unreachable(), { uploads: "none" });
    const refused = { code: "unimplemented", refused: true };
    expect(await failure(none.clientStream(sum, [1]))).toMatchObject(refused);
    const half = callerOf(() => streamOf(item(1), end()), { uploads: "half" });
    expect(await half.clientStream(sum, [1])).toBe(1);
    const failed = await failure(collect(half.duplex(chat).readable));
    expect(failed).toMatchObject(refused);
    expect(failed.hint).toContain("WebSocket");
  });
});

describe("a duplex call", () => {
  it("has items both ways, at once", async () => {
    const caller = callerOf((_, init) => {
      const numbers = numbersOf(init);
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await numbers.next();
          controller.enqueue(done === true ? end() : item(value * 2));
          if (done === true) controller.close();
        },
      });
      return new Response(body, { headers: STREAM });
    });
    const { readable, writable } = caller.duplex(chat);
    const writer = writable.getWriter();
    const items = readable[Symbol.asyncIterator]();
    for (let i = 0; i < 20; i++) {
      await writer.write(i);
      expect(await items.next()).toEqual({ done: false, value: i * 2 });
    }
    await writer.close();
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it("fails in both directions", async () => {
    const caller = callerOf(() => streamOf(item(1), end(new RpcError("aborted", "why"))));
    const { readable, writable } = caller.duplex(chat);
    const writer = writable.getWriter();
    expect(await failure(collect(readable))).toMatchObject({ code: "aborted" });
    expect(await failure(writer.closed)).toMatchObject({ code: "aborted" });
  });

  it("is cancelled by its writer", async () => {
    const caller = callerOf(silent);
    const { readable, writable } = caller.duplex(chat);
    await writable.abort(new RpcError("aborted", "by the writer"));
    expect(await failure(collect(readable))).toMatchObject({ code: "aborted" });
  });
});

describe("an answer that would hold more than limits.maxSessionBytes", () => {
  const any = uncheckedCodec<unknown>();
  const holding = {
    one: defineMethod(service, "unary", "one", {
      id: 6,
      input: any,
      output: any,
      errors: { MANY: { code: "aborted", details: any } },
    }),
    some: defineMethod(service, "server_stream", "some", { id: 7, input: any, output: any }),
    none: defineMethod(service, "unary", "none", { id: 8, errors: { MANY: { code: "aborted", details: any } } }),
  } as const;
  const many = Array.from({ length: 50_000 }, () => ({}));
  const numbered = Array.from({ length: 500 }, () => ({ 1000: 1 }));
  const limits = { maxSessionBytes: 1_000_000 };

  it.each([
    ["empty objects", many],
    ["objects with numbers for keys", numbered],
  ])("is refused: %s", async (_, value) => {
    const caller = callerOf((url) => (url.pathname.endsWith("one") ? answerOf(value) : streamOf(item(value), end())), {
      limits,
    });
    await expect(caller.unary(holding.one, 1)).rejects.toMatchObject({ code: "resource_exhausted" });
    await expect(caller.serverStream(holding.some, 1)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "resource_exhausted",
    });
    const roomy = callerOf(() => answerOf(value));
    expect(await roomy.unary(holding.one, 1)).toEqual(value);
  });

  it.each([
    ["MessagePack", many, undefined],
    ["MessagePack", numbered, undefined],
    ["a struct", many, plainJson],
    ["a struct", numbered, plainJson],
  ] as const)("leaves the details of an error out, and says so: in %s", async (_, details, codec) => {
    for (const reason of [undefined, "MANY"]) {
      const given = new RpcError("aborted", "told", { reason, details });
      const detail = codec === undefined ? packedDetail(given, holding.none) : structDetail(given, holding.none);
      const answer = (): Response =>
        new Response(
          jsonBytes({ code: "aborted", message: "told", details: detail === undefined ? [] : [detail] }).slice(),
          {
            status: 409,
            headers: { "content-type": "application/json" },
          },
        );
      const error = await callerOf(answer, { limits, ...(codec && { codec }) })
        .unary(holding.none, undefined)
        .then(
          () => expect.unreachable(),
          (thrown: unknown) => RpcError.from(thrown),
        );
      expect(error).toMatchObject({ code: "aborted", message: "told", details: undefined });
      expect(error.hint).toContain("limits.maxSessionBytes is 1000000");
      const roomy = await callerOf(answer, codec && { codec })
        .unary(holding.none, undefined)
        .then(
          () => expect.unreachable(),
          (thrown: unknown) => RpcError.from(thrown),
        );
      expect(roomy).toMatchObject({ code: "aborted", details });
    }
  });
});
