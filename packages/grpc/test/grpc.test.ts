// grpc-js calls a service that is written in zod.
import {
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  type ServiceClientConstructor,
  status,
} from "@grpc/grpc-js";
import { load } from "@grpc/proto-loader";
import { type Limits, rpcError, RpcError } from "@quicrpc/core";
import { createFetchHandler, type HttpServiceOptions, toNodeHandler, withConnectDetails } from "@quicrpc/http";
import { createHealth } from "@quicrpc/services";
import { connect, createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grpc } from "../src/index.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";
import { createEchoRouter, echoMethods, type EchoHandlers } from "./generated/echo.js";

const PROTO = fileURLToPath(new URL("proto/test/v1/test.proto", import.meta.url));

interface Item {
  readonly text?: string;
  readonly count?: number;
}
type Done = (error: ServiceError | null, value?: Item) => void;
interface Readable extends AsyncIterable<Item> {
  on(event: "metadata", listener: (metadata: Metadata) => void): this;
  on(event: "status", listener: (status: ServiceError) => void): this;
  cancel(): void;
}
interface Writable {
  write(item: Item): void;
  end(): void;
}
interface EchoStub extends Client {
  say(item: Item, metadata: Metadata, options: object, done: Done): Readable;
  nothing(item: object, done: Done): void;
  repeat(item: Item, options?: object): Readable;
  join(done: Done): Writable;
  each(): Readable & Writable;
  fail(input: { how: string }): Readable;
  missing(item: Item, done: Done): void;
}

let cancelled: (() => void) | undefined;
/** Message of the errors that `fail` throws. */
let plainMessage = "there is none";
const handlers: EchoHandlers = {
  say(item, context) {
    context.responseMetadata.append("x-head", "head");
    context.trailers.append("x-tail-bin", Uint8Array.of(1, 255));
    const [first] = context.metadata.getAll("x-given-bin");
    return { ...item, text: item.text + (first instanceof Uint8Array ? first.join() : "") };
  },
  async *repeat({ text, count }, context) {
    for (let i = 0; i < count; i++) yield { text, count: i };
    if (count < 0) {
      yield { text, count };
      await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
      cancelled?.();
    }
  },
  async join(items) {
    let count = 0;
    for await (const item of items) count += item.count;
    return { text: "sum", count };
  },
  async *each(items) {
    for await (const { text, count } of items) yield { text, count: count * 2 };
  },
  nothing() {},
  async *fail({ how }) {
    if (how === "late") yield { text: "first", count: 1 };
    if (how === "declared") throw rpcError(echoMethods.fail, "TOO_MANY", { most: 3 }, { message: "at most 3: ü %\n" });
    throw withConnectDetails(new RpcError("not_found", plainMessage), [
      { type: "google.protobuf.Any", value: Uint8Array.of(10, 1, 97) },
    ]);
  },
};

function serve(options: Partial<HttpServiceOptions> = {}): Promise<{ server: Http2Server; port: number }> {
  const handler = createFetchHandler({
    routers: [createEchoRouter(handlers)],
    extensions: [grpc(echoProtobuf)],
    ...options,
  });
  const server = createServer().on("stream", toNodeHandler(handler).http2 as never);
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve({ server, port: (server.address() as AddressInfo).port })),
  );
}

async function stubFor(port: number, options: object = {}): Promise<EchoStub> {
  const definition = await load(PROTO, { longs: Number, enums: String });
  const { test: packages } = loadPackageDefinition(definition) as unknown as {
    test: { v1: { Echo: ServiceClientConstructor } };
  };
  return new packages.v1.Echo(`127.0.0.1:${port}`, credentials.createInsecure(), options) as unknown as EchoStub;
}

let server: Http2Server;
let port: number;
let stub: EchoStub;
beforeAll(async () => {
  ({ server, port } = await serve());
  stub = await stubFor(port);
});
afterAll(() => {
  stub.close();
  server.close();
});

function unary(call: (done: Done) => unknown): Promise<{ error: ServiceError | null; value: Item | undefined }> {
  return new Promise((resolve) => call((error, value) => resolve({ error, value })));
}

async function failureOf(stream: AsyncIterable<Item>): Promise<{ items: Item[]; error: ServiceError | undefined }> {
  const items: Item[] = [];
  try {
    for await (const item of stream) items.push(item);
  } catch (error) {
    return { items, error: error as ServiceError };
  }
  return { items, error: undefined };
}

describe("gRPC", () => {
  test("one message for one message, with metadata both ways", async () => {
    const given = new Metadata();
    given.add("x-given-bin", Buffer.from([7, 8]));
    let head: Metadata | undefined;
    let end: ServiceError | undefined;
    const { error, value } = await unary((done) =>
      stub
        .say({ text: "é", count: -5 }, given, {}, done)
        .on("metadata", (metadata) => (head = metadata))
        .on("status", (status) => (end = status)),
    );
    expect(error).toBeNull();
    expect(value).toEqual({ text: "é7,8", count: -5 });
    expect(head?.get("x-head")).toEqual(["head"]);
    expect(end?.metadata.get("x-tail-bin")).toEqual([Buffer.from([1, 255])]);
  });

  test("a message with all fields at zero is empty", async () => {
    const { value } = await unary((done) => stub.say({}, new Metadata(), {}, done));
    expect(value).toEqual({});
  });

  test("methods without messages", async () => {
    expect(await unary((done) => stub.nothing({}, done))).toEqual({ error: null, value: {} });
  });

  test("streams in each direction", async () => {
    expect(await failureOf(stub.repeat({ text: "a", count: 3 }))).toEqual({
      items: [{ text: "a" }, { text: "a", count: 1 }, { text: "a", count: 2 }],
      error: undefined,
    });
    const sum = await unary((done) => {
      const stream = stub.join(done);
      for (const count of [1, 2, 3]) stream.write({ text: "", count });
      stream.end();
    });
    expect(sum.value).toEqual({ text: "sum", count: 6 });
    const both = stub.each();
    both.write({ text: "b", count: 2 });
    const items = both[Symbol.asyncIterator]();
    expect(await items.next()).toEqual({ done: false, value: { text: "b", count: 4 } });
    both.end();
    expect((await items.next()).done).toBe(true);
  });

  test("large messages, compressed", async () => {
    const gzip = await stubFor(port, { "grpc.default_compression_algorithm": 2 });
    const text = "compressible ".repeat(20_000);
    const { value } = await unary((done) => gzip.say({ text, count: 1 }, new Metadata(), {}, done));
    expect(value?.text).toBe(text);
    gzip.close();
  });

  test("a message of a call that does not match its schema is refused", async () => {
    const { error } = await failureOf(stub.fail({ how: "HOW_UNSPECIFIED" }));
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(error?.details).toContain("how");
  });

  test("errors have their code, message and details", async () => {
    const declared = await failureOf(stub.fail({ how: "HOW_DECLARED" }));
    expect(declared.items).toEqual([]);
    expect(declared.error).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: "at most 3: ü %\n" });
    const late = await failureOf(stub.fail({ how: "HOW_LATE" }));
    expect(late.items).toEqual([{ text: "first", count: 1 }]);
    expect(late.error).toMatchObject({ code: status.NOT_FOUND, details: "there is none" });
    const [details] = late.error?.metadata.get("grpc-status-details-bin") ?? [];
    const any = "type.googleapis.com/google.protobuf.Any";
    const message = Buffer.concat([Buffer.from([8, 5, 18, 13]), Buffer.from("there is none")]);
    const head = Buffer.concat([Buffer.from([26, any.length + 7, 10, any.length]), Buffer.from(any)]);
    expect(details).toEqual(Buffer.concat([message, head, Buffer.from([18, 3, 10, 1, 97])]));
  });

  test.each([
    ["too long for headers", `a${"é".repeat(30_000)}`, `a${"é".repeat(1023)}`],
    ["not well-formed", "half \ud800 of a pair", "half \ufffd of a pair"],
  ])("an error keeps its code if its message is %s", async (_, message, received) => {
    plainMessage = message;
    try {
      const calls = [stub.fail({ how: "HOW_LATE" }), stub.fail({ how: "HOW_PLAIN" })];
      for (const { error } of await Promise.all(calls.map(failureOf)))
        expect(error).toMatchObject({ code: status.NOT_FOUND, details: received });
    } finally {
      plainMessage = "there is none";
    }
  });

  test("deadlines are those of the caller", async () => {
    const ended = new Promise<void>((resolve) => (cancelled = resolve));
    const { error } = await failureOf(stub.repeat({ text: "", count: -1 }, { deadline: Date.now() + 50 }));
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    await ended;
  });

  test("a cancelled call ends in its handler", async () => {
    const ended = new Promise<void>((resolve) => (cancelled = resolve));
    const stream = stub.repeat({ text: "", count: -1 });
    for await (const _ of stream) break;
    stream.cancel();
    await ended;
  });

  test("limits are those of the server", async () => {
    const small = await serve({ limits: { maxFrameBytes: 1000 } });
    const caller = await stubFor(small.port);
    const { error } = await unary((done) => caller.say({ text: "x".repeat(2000) }, new Metadata(), {}, done));
    expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    caller.close();
    small.server.close();
  });

  test("authenticate and interceptors decide as for other calls", async () => {
    const guarded = await serve({
      authenticate({ headers, method }) {
        if (headers.get("authorization") !== "Bearer ok") throw new RpcError("unauthenticated", `no token: ${method}`);
      },
    });
    const caller = await stubFor(guarded.port);
    const refused = await unary((done) => caller.say({ text: "a" }, new Metadata(), {}, done));
    expect(refused.error).toMatchObject({ code: status.UNAUTHENTICATED, details: "no token: test.v1.Echo/say" });
    const given = new Metadata();
    given.add("authorization", "Bearer ok");
    expect((await unary((done) => caller.say({ text: "a" }, given, {}, done))).value).toEqual({ text: "a" });
    caller.close();
    guarded.server.close();
  });

  test("health checks are answered by createHealth", async () => {
    const health = createHealth({ "test.v1.Echo": "not_serving" });
    const checked = await serve({ routers: [createEchoRouter(handlers), health.router] });
    const caller = await stubFor(checked.port);
    const same = (bytes: Buffer): Buffer => bytes;
    const check = (service: string): Promise<Buffer | number> =>
      new Promise((resolve) => {
        const request = Buffer.from(service === "" ? "" : `\n${String.fromCharCode(service.length)}${service}`);
        caller.makeUnaryRequest("/grpc.health.v1.Health/Check", same, same, request, (error, answer) =>
          resolve(error?.code ?? answer ?? Buffer.alloc(0)),
        );
      });
    expect(await check("")).toEqual(Buffer.from([8, 1]));
    expect(await check("test.v1.Echo")).toEqual(Buffer.from([8, 2]));
    expect(await check("other")).toBe(status.NOT_FOUND);
    const watch = caller.makeServerStreamRequest("/grpc.health.v1.Health/Watch", same, same, Buffer.alloc(0));
    const changes = watch[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    expect((await changes.next()).value).toEqual(Buffer.from([8, 1]));
    health.shutdown();
    expect((await changes.next()).value).toEqual(Buffer.from([8, 2]));
    watch.on("error", () => {}).cancel();
    caller.close();
    checked.server.close();
  });

  test("a service without a router is refused at start", () => {
    const make = (): unknown => createFetchHandler({ routers: [], extensions: [grpc(echoProtobuf)] });
    expect(make).toThrow("grpc() has the service test.v1.Echo, but no router has its method say");
  });
});

describe("requests that are not calls", () => {
  const handler = createFetchHandler({ routers: [createEchoRouter(handlers)], extensions: [grpc(echoProtobuf)] });
  const request = (init: RequestInit & { path?: string; type?: string }): Promise<Response> =>
    handler(
      new Request(`http://localhost${init.path ?? "/test.v1.Echo/Say"}`, {
        method: "POST",
        ...init,
        headers: { "content-type": init.type ?? "application/grpc-web" },
      }),
    );

  test.each([
    ["another encoding", { type: "application/grpc+json" }, 415],
    ["gRPC without HTTP/2", { type: "application/grpc" }, 505],
    ["another verb", { method: "PUT" }, 405],
  ])("%s", async (_, init, expected) => {
    const { status: code, headers } = await request(init);
    expect([code, headers.get("cache-control")]).toEqual([expected, "no-store"]);
  });

  test("content types may be in upper case", async () => {
    const { status: code, headers } = await request({ type: "Application/GRPC-Web" });
    expect([code, headers.get("grpc-status")]).toEqual([200, "12"]);
  });

  test("unknown methods end with a status", async () => {
    const { status: code, headers } = await request({ path: "/test.v1.Echo/Other" });
    expect([code, headers.get("grpc-status")]).toEqual([200, "12"]);
  });
});

test("Connect clients may send protobuf too", async () => {
  const handler = createFetchHandler({ routers: [createEchoRouter(handlers)], extensions: [grpc(echoProtobuf)] });
  const headers = { "content-type": "application/proto" };
  const init = { method: "POST", headers, body: Uint8Array.of(10, 1, 97, 16, 1) };
  const response = await handler(new Request("http://localhost/test.v1.Echo/Say", init));
  expect(response.headers.get("content-type")).toBe("application/proto");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(init.body);
});

describe("gRPC-Web", () => {
  const handler = createFetchHandler({ routers: [createEchoRouter(handlers)], extensions: [grpc(echoProtobuf)] });
  const post = async (
    path: string,
    body: Uint8Array,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<{ response: Response; bytes: Buffer }> => {
    const headers = { "content-type": "application/grpc-web+proto", ...fields };
    const init = { method: "POST", headers, body: body as BodyInit };
    const response = await handler(new Request(`http://localhost/test.v1.Echo/${path}`, init));
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  test("ends with trailers in the body", async () => {
    const { response, bytes } = await post("Repeat", Uint8Array.of(0, 0, 0, 0, 5, 10, 1, 97, 16, 1));
    expect(response.headers.get("content-type")).toBe("application/grpc-web+proto");
    const trailers = Buffer.from("grpc-status: 0\r\n");
    const head = [0x80, 0, 0, 0, trailers.length];
    expect(bytes).toEqual(Buffer.from([0, 0, 0, 0, 3, 10, 1, 97, ...head, ...trailers]));
  });

  test("an error before the first message is in the head", async () => {
    const { response, bytes } = await post("Say", Uint8Array.of());
    expect([response.headers.get("grpc-status"), bytes.length]).toEqual(["12", 0]);
    expect(response.headers.get("grpc-message")).toBe("the method takes one message, and there is none");
  });

  test.each([
    ["identity,deflate,gzip", "gzip"],
    ["identity", null],
    ["deflate, Identity", null],
  ])("a large response to a client that accepts %s has the encoding %s", async (accepted, encoding) => {
    const text = Buffer.alloc(4000, "compressible ");
    const item = Buffer.concat([Buffer.from([10, 0xa0, 0x1f]), text, Buffer.from([16, 1])]);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(item.length, 1);
    const { response, bytes } = await post("Say", Buffer.concat([head, item]), { "grpc-accept-encoding": accepted });
    expect(response.headers.get("grpc-encoding")).toBe(encoding);
    const sent = bytes.subarray(5, 5 + bytes.readUInt32BE(1));
    expect(bytes[0]).toBe(encoding === null ? 0 : 1);
    expect(encoding === null ? sent : gunzipSync(sent)).toEqual(item);
  });
});

describe("the body of a request with one message", () => {
  const message = (text: string): Buffer => {
    const { length } = text;
    const bytes = Buffer.from([10, (length & 127) | 128, length >> 7, ...Buffer.from(text), 16, 1]);
    return Buffer.from([0, 0, 0, bytes.length >> 8, bytes.length & 255, ...bytes]);
  };
  const half = message("abcd").length / 2;
  /** Bytes that are written together. The last piece ends the request. */
  type Pieces = readonly Buffer[];

  /** Sends each piece in a turn of its own, and returns the status of the response and the bytes of its body. */
  async function send(pieces: Pieces, limits: Partial<Limits>): Promise<[status: unknown, bytes: number]> {
    const limited = await serve({ limits });
    const session = connect(`http://127.0.0.1:${limited.port}`);
    const stream = session.request({
      ":method": "POST",
      ":path": "/test.v1.Echo/Say",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const closed = new Promise((resolve) => stream.once("close", resolve));
    let result: unknown;
    let bytes = 0;
    stream.on("response", (head) => (result = head["grpc-status"]));
    stream.on("trailers", (trailers) => (result = trailers["grpc-status"]));
    stream.on("data", (piece: Buffer) => (bytes += piece.length));
    for (const [index, piece] of pieces.entries()) {
      if (index < pieces.length - 1) await new Promise((resolve) => stream.write(piece, resolve));
      else stream.end(piece);
      for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    }
    await closed;
    session.close();
    limited.server.close();
    return [result, bytes];
  }

  test.each<[string, Pieces, unknown, number]>([
    ["arrives at once", [message("abcd")], "0", 13],
    ["arrives before its end", [message("abcd"), Buffer.alloc(0)], "0", 13],
    ["arrives in pieces", [message("abcd").subarray(0, half), message("abcd").subarray(half)], "0", 13],
    ["is as large as the limit", [message("a".repeat(995))], "0", 1005],
    ["exceeds the limit", [message("a".repeat(996))], "8", 0],
    ["has two messages", [Buffer.concat([message("a"), message("b")])], "12", 0],
    ["has no message", [Buffer.alloc(0)], "12", 0],
    ["is truncated", [message("abcd").subarray(0, half)], "3", 0],
  ])("%s", async (_, pieces, code, bytes) => {
    expect(await send(pieces, { maxFrameBytes: 1000 })).toEqual([code, bytes]);
  });
});
