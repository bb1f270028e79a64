// Generated clients call gRPC servers: one of grpc-js, and one of this library.
import {
  loadPackageDefinition,
  Metadata as GrpcMetadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceClientConstructor,
  status,
} from "@grpc/grpc-js";
import { load } from "@grpc/proto-loader";
import { isRpcErrorOf, Metadata, rpcError, RpcError } from "@quicrpc/core";
import { createCallerSession } from "@quicrpc/core/transport";
import {
  connectDetails,
  createFetchHandler,
  type Fetch,
  gzip,
  http2Fetch,
  type NodeHandler,
  toNodeHandler,
  withConnectDetails,
} from "@quicrpc/http";
import { createServer as createPlainServer } from "node:http";
import {
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  grpc,
  grpcTransport,
  type GrpcTransportOptions,
  grpcWebTransport,
  type GrpcWebTransportOptions,
} from "../src/index.js";
import { createEchoClient, createEchoRouter, type EchoClient, echoMethods, type Item } from "./generated/echo.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";

const PROTO = fileURLToPath(new URL("proto/test/v1/test.proto", import.meta.url));

/** The compressions that a request accepts and uses, and then that of its response and the flags of its first message. */
type OnCoding = (names: readonly [first: unknown, second: unknown]) => void;

type ClientOptions = Omit<Partial<GrpcTransportOptions>, "fetch">;

/** Makes a client of a server at this port. */
type MakeClient = (port: number, options?: ClientOptions, onCoding?: OnCoding) => EchoClient;

function webClientWith(port: number, options: Partial<GrpcWebTransportOptions>): EchoClient {
  const transport = grpcWebTransport({ services: [echoProtobuf], ...options });
  return createEchoClient(transport.caller(`http://127.0.0.1:${port}`));
}

const webClientOf: MakeClient = (port, options = {}, onCoding) => {
  const fetch: Fetch = async (url, init) => {
    const response = await globalThis.fetch(url, init);
    if (onCoding === undefined) return response;
    const [flags] = new Uint8Array(await response.clone().arrayBuffer());
    onCoding([init.headers.get("grpc-accept-encoding"), init.headers.get("grpc-encoding")]);
    onCoding([response.headers.get("grpc-encoding"), flags]);
    return response;
  };
  return webClientWith(port, { fetch, ...options });
};

const clientOf: MakeClient = (port, options = {}, onCoding) => {
  const fetch = http2Fetch(connect);
  onTestFinished(() => fetch.close());
  const { request } = fetch;
  if (onCoding !== undefined) {
    const recorded: typeof request = (origin, fields, signal) => {
      onCoding([fields["grpc-accept-encoding"], fields["grpc-encoding"]]);
      const stream = request(origin, fields, signal) as ClientHttp2Stream;
      let coding: unknown;
      stream.once("response", (head) => (coding = head["grpc-encoding"]));
      stream.once("data", ([flags]: Buffer) => setImmediate(() => onCoding([coding, flags])));
      return stream;
    };
    Object.assign(fetch, { request: recorded });
  }
  const transport = grpcTransport({ services: [echoProtobuf], fetch, ...options });
  return createEchoClient(transport.caller(`http://127.0.0.1:${port}`));
};

/** What a server has seen of its last call. */
interface Seen {
  metadata?: readonly string[];
  deadline?: number | undefined;
  encoding?: string | undefined;
  cancelled?: () => void;
}

interface Peer {
  readonly seen: Seen;
  readonly port: number;
}

const DETAIL = { type: "test.v1.EchoSayRequest", value: Uint8Array.of(10, 1, 97) };
const LARGE = "compressible ".repeat(4000);

async function serveOwn(): Promise<Peer & { readonly handler: NodeHandler }> {
  const seen: Seen = {};
  const router = createEchoRouter({
    say(item, context) {
      seen.metadata = [...context.metadata].map(([name, value]) => `${name}: ${String(value)}`);
      seen.deadline = context.deadline;
      context.responseMetadata.append("x-head", "head");
      context.trailers.append("x-tail-bin", Uint8Array.of(1, 255));
      return item;
    },
    async *repeat({ text, count }, context) {
      for (let i = 0; i < count; i++) yield { text, count: i };
      if (count >= 0) return;
      yield { text, count };
      await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
      seen.cancelled?.();
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
      if (how === "declared") throw rpcError(echoMethods.fail, "TOO_MANY", { most: 3 }, { message: "at most 3" });
      const metadata = new Metadata([["x-why", "none"]]);
      throw withConnectDetails(new RpcError("not_found", "é %\nnone", { metadata }), [DETAIL]);
    },
  });
  const handler = toNodeHandler(createFetchHandler({ routers: [router], extensions: [grpc(echoProtobuf)] }));
  const port = await listen((stream, headers) => {
    seen.encoding = headers["grpc-encoding"] as string | undefined;
    handler.http2(stream, headers);
  });
  return { seen, port, handler };
}

/** Serves over HTTP/1.1. */
async function serveWeb(): Promise<Peer> {
  const { seen, handler } = await serveOwn();
  const server = createPlainServer(handler);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, port: (server.address() as AddressInfo).port };
}

async function listen(
  answer: (stream: ServerHttp2Stream, headers: Readonly<Record<string, string | string[] | undefined>>) => void,
  prepare: (server: Http2Server) => unknown = () => {},
): Promise<number> {
  const server = createServer().on("stream", answer);
  prepare(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function serveGrpcJs(): Promise<Peer> {
  const seen: Seen = {};
  const definition = await load(PROTO, { longs: Number, enums: String, defaults: true });
  const { test: packages } = loadPackageDefinition(definition) as unknown as {
    test: { v1: { Echo: ServiceClientConstructor } };
  };
  const server = new Server();
  server.addService(packages.v1.Echo.service, {
    Say(call: ServerUnaryCall<Item, Item>, done: sendUnaryData<Item>) {
      seen.metadata = Object.entries(call.metadata.getMap()).map(([name, value]) => `${name}: ${value.toString()}`);
      const deadline = call.getDeadline();
      seen.deadline = deadline === Infinity ? undefined : Number(deadline);
      const head = new GrpcMetadata();
      head.add("x-head", "head");
      call.sendMetadata(head);
      const tail = new GrpcMetadata();
      tail.add("x-tail-bin", Buffer.from([1, 255]));
      done(null, call.request, tail);
    },
    Repeat(call: ServerWritableStream<Item, Item>) {
      const { text, count } = call.request;
      for (let i = 0; i < count; i++) call.write({ text, count: i });
      if (count >= 0) return call.end();
      call.write({ text, count });
      call.on("cancelled", () => seen.cancelled?.());
      return undefined;
    },
    Join(call: ServerReadableStream<Item, Item>, done: sendUnaryData<Item>) {
      let count = 0;
      call.on("data", (item: Item) => (count += item.count));
      call.on("end", () => done(null, { text: "sum", count }));
    },
    Each(call: ServerDuplexStream<Item, Item>) {
      call.on("data", ({ text, count }: Item) => call.write({ text, count: count * 2 }));
      call.on("end", () => call.end());
    },
    Nothing(_: unknown, done: sendUnaryData<object>) {
      done(null, {});
    },
    Fail(call: ServerWritableStream<{ readonly how: string }, Item>) {
      if (call.request.how === "HOW_LATE") call.write({ text: "first", count: 1 });
      const metadata = new GrpcMetadata();
      metadata.add("x-why", "none");
      const url = Buffer.from(`type.googleapis.com/${DETAIL.type}`);
      const any = Buffer.concat([
        Buffer.from([10, url.length]),
        url,
        Buffer.from([18, DETAIL.value.length]),
        DETAIL.value,
      ]);
      metadata.add("grpc-status-details-bin", Buffer.concat([Buffer.from([8, 5, 26, any.length]), any]));
      call.emit("error", { code: status.NOT_FOUND, details: "é %\nnone", metadata });
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return { seen, port };
}

async function collect(items: AsyncIterable<Item>): Promise<{ items: Item[]; error: unknown }> {
  const found: Item[] = [];
  try {
    for await (const item of items) found.push(item);
  } catch (error) {
    return { items: found, error };
  }
  return { items: found, error: undefined };
}

describe.each<[string, () => Promise<Peer>, MakeClient]>([
  ["grpc-js", serveGrpcJs, clientOf],
  ["this library", serveOwn, clientOf],
  ["this library, by gRPC-Web", serveWeb, webClientOf],
])("a server of %s", (_, serve, clientOf) => {
  test("answers calls of each kind", async () => {
    const client = clientOf((await serve()).port);
    expect(await client.say({ text: "é", count: -5 })).toEqual({ text: "é", count: -5 });
    expect(await client.say({ text: "", count: 0 })).toEqual({ text: "", count: 0 });
    expect(await client.nothing()).toBeUndefined();
    expect(await collect(client.repeat({ text: "a", count: 3 }))).toEqual({
      items: [0, 1, 2].map((count) => ({ text: "a", count })),
      error: undefined,
    });
    expect(await collect(client.repeat({ text: "a", count: 0 }))).toEqual({ items: [], error: undefined });
    const counts = [1, 2, 3].map((count) => ({ text: "", count }));
    expect(await client.join(counts)).toEqual({ text: "sum", count: 6 });
    const { readable, writable } = client.each();
    const writer = writable.getWriter();
    await writer.write({ text: "b", count: 2 });
    const items = readable[Symbol.asyncIterator]();
    expect(await items.next()).toEqual({ done: false, value: { text: "b", count: 4 } });
    await writer.close();
    expect((await items.next()).done).toBe(true);
  });

  test("receives metadata and a deadline, and sends metadata and trailers", async () => {
    const { port, seen } = await serve();
    let head: Metadata | undefined;
    let tail: Metadata | undefined;
    const before = Date.now();
    await clientOf(port, { headers: { "x-always": "yes" }, credentials: "token" }).say(
      { text: "a", count: 1 },
      {
        metadata: [
          ["x-text", "text"],
          ["x-bytes-bin", Uint8Array.of(97, 98)],
          ["grpc-own", "dropped"],
        ],
        timeoutMs: 3_600_000,
        onResponseMetadata: (metadata) => (head = metadata),
        onTrailers: (trailers) => (tail = trailers),
      },
    );
    for (const each of ["x-text: text", "x-always: yes", "authorization: Bearer token"])
      expect(seen.metadata).toContain(each);
    expect(seen.metadata?.filter((each) => /^(grpc-own|connect-|te:)/.test(each))).toEqual([]);
    expect(seen.metadata?.find((each) => each.startsWith("x-bytes-bin"))).toMatch(/ab|97,98/);
    expect(seen.deadline).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(head?.getAll("x-head")).toEqual(["head"]);
    expect(tail?.getAll("x-tail-bin")).toEqual([Uint8Array.of(1, 255)]);
    expect([...(tail ?? [])].filter(([name]) => name.startsWith("grpc-"))).toEqual([]);
  });

  test("fails with code, message, metadata and details", async () => {
    const client = clientOf((await serve()).port);
    for (const how of ["plain", "late"] as const) {
      const { items, error } = await collect(client.fail({ how }));
      expect(items).toEqual(how === "late" ? [{ text: "first", count: 1 }] : []);
      expect(error).toMatchObject({ code: "not_found", message: "é %\nnone" });
      expect((error as RpcError).metadata.getAll("x-why")).toEqual(["none"]);
      expect(connectDetails(error as RpcError)).toMatchObject([DETAIL]);
    }
  });

  test("ends a call whose deadline passes", async () => {
    const { port, seen } = await serve();
    const ended = new Promise<void>((resolve) => (seen.cancelled = resolve));
    const { error } = await collect(clientOf(port).repeat({ text: "", count: -1 }, { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    await ended;
  });

  test("ends a call that its caller leaves", async () => {
    const { port, seen } = await serve();
    const ended = new Promise<void>((resolve) => (seen.cancelled = resolve));
    for await (const _item of clientOf(port).repeat({ text: "", count: -1 })) break;
    await ended;
  });

  test("exchanges compressed messages", async () => {
    const { port } = await serve();
    const exchanges: unknown[] = [];
    const client = clientOf(port, { compression: { algorithms: [gzip] } }, (names) => void exchanges.push(names));
    expect(await client.say({ text: LARGE, count: 1 })).toEqual({ text: LARGE, count: 1 });
    expect(await collect(client.repeat({ text: LARGE, count: 1 }))).toMatchObject({ items: [{ text: LARGE }] });
    const sent = { text: LARGE, count: 2 };
    expect(await client.join([sent, sent])).toEqual({ text: "sum", count: 4 });
    const request = ["gzip", "gzip"];
    // The server of grpc-js compresses no messages.
    const response = serve === serveGrpcJs ? ["identity", 0] : ["gzip", 1];
    expect(exchanges.slice(0, 4)).toEqual([request, response, request, response]);
  });

  test("does not know a method", async () => {
    const others = Object.entries(echoProtobuf.methods).map(([key, method]) => [key, { ...method, name: "Other" }]);
    const other = { ...echoProtobuf, methods: Object.fromEntries(others) };
    const client = clientOf((await serve()).port, { services: [other] });
    await expect(client.say({ text: "", count: 0 })).rejects.toMatchObject({ code: "unimplemented" });
  });
});

test("declared errors of this library have their details", async () => {
  const { error } = await collect(clientOf((await serveOwn()).port).fail({ how: "declared" }));
  expect(isRpcErrorOf(echoMethods.fail, error)).toBe(true);
  expect(error).toMatchObject({ code: "resource_exhausted", reason: "TOO_MANY", details: { most: 3 } });
});

test("messages are compressed from 1024 bytes on", async () => {
  const { port, seen } = await serveOwn();
  await clientOf(port, { compression: { algorithms: [gzip] } }).say({ text: LARGE, count: 1 });
  expect(seen.encoding).toBe("gzip");
  await clientOf(port, { compression: { algorithms: [gzip] } }).say({ text: "small", count: 1 });
  expect(seen.encoding).toBeUndefined();
});

test("a ping is one of HTTP/2", async () => {
  const { port } = await serveOwn();
  const fetch = http2Fetch(connect);
  onTestFinished(() => fetch.close());
  const transport = grpcTransport({ services: [], fetch });
  const session = createCallerSession(await transport.dial(new URL(`http://127.0.0.1:${port}`)));
  expect(await session.ping()).toBeGreaterThan(0);
  expect(await session.ping()).toBeGreaterThan(0);
  const nobody = createCallerSession(await transport.dial(new URL("http://127.0.0.1:1")));
  await expect(nobody.ping()).rejects.toMatchObject({ code: "unavailable", refused: true });
});

test("a client of gRPC-Web has no ping", async () => {
  const transport = grpcWebTransport({ services: [echoProtobuf] });
  const session = createCallerSession(await transport.dial(new URL("http://127.0.0.1:1")));
  await expect(session.ping()).rejects.toMatchObject({
    code: "unimplemented",
    message: expect.stringMatching(/pings$/),
  });
  await session.close();
});

test("a method without messages in protobuf is refused before it is sent", async () => {
  const client = clientOf(1, { services: [] });
  await expect(client.say({ text: "", count: 0 })).rejects.toMatchObject({
    code: "unimplemented",
    message: "test.v1.Echo/say has no messages in protobuf here",
  });
});

test("a server that does not answer is unavailable", async () => {
  await expect(clientOf(1).say({ text: "", count: 0 })).rejects.toMatchObject({ code: "unavailable", refused: true });
});

test("a server may end a request at its deadline", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const endedAfter = async (milliseconds: number): Promise<unknown> => {
    const fetch = async (): Promise<never> => {
      vi.setSystemTime(Date.now() + milliseconds);
      throw new TypeError("fetch failed");
    };
    return webClientWith(1, { fetch }).say({ text: "", count: 0 }, { timeoutMs: 60_000 });
  };
  await expect(endedAfter(60_000)).rejects.toMatchObject({ code: "deadline_exceeded" });
  await expect(endedAfter(59_999)).rejects.toMatchObject({ code: "unavailable" });
});

test("a call that the server refuses may be repeated", async () => {
  const port = await listen((stream) => stream.on("error", () => {}).close(constants.NGHTTP2_REFUSED_STREAM));
  await expect(clientOf(port).say({ text: "", count: 0 })).rejects.toMatchObject({
    code: "unavailable",
    refused: true,
  });
});

describe("a connection", () => {
  /** Calls handled by a server of `node:http2`, which answers each call by calling the function it receives. */
  async function serveRaw(
    onCall: (answer: () => void, stream: ServerHttp2Stream) => void,
    settings: Settings = {},
  ): Promise<{ readonly port: number; readonly sessions: ServerHttp2Session[] }> {
    const sessions: ServerHttp2Session[] = [];
    const port = await listen(
      (stream) => {
        stream.on("error", () => {});
        const answer = (): void => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
          stream.end(Buffer.from(envelope(ITEM)));
        };
        onCall(answer, stream);
      },
      (server) =>
        server.on("session", (session) => {
          session.settings(settings);
          sessions.push(session);
        }),
    );
    return { port, sessions };
  }

  test("has at most as many calls as the server takes, and others wait", async () => {
    const waiting: (() => void)[] = [];
    let most = 0;
    const { port } = await serveRaw(
      (answer) => {
        waiting.push(answer);
        most = Math.max(most, waiting.length);
        setImmediate(() => waiting.shift()?.());
      },
      { maxConcurrentStreams: 2 },
    );
    const client = clientOf(port);
    // The settings of the server arrive with the first answer.
    await client.say({ text: "", count: 0 });
    const answers = Array.from({ length: 20 }, () => client.say({ text: "", count: 0 }));
    expect(await Promise.all(answers)).toHaveLength(20);
    expect(most).toBe(2);
  });

  test("that the server leaves finishes its calls, and others use a new one", async () => {
    const waiting: (() => void)[] = [];
    const { port, sessions } = await serveRaw((answer) => {
      waiting.push(answer);
      if (waiting.length === 1) sessions[0]?.goaway(constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1);
      else for (const each of waiting) each();
    });
    const client = clientOf(port);
    const first = client.say({ text: "", count: 0 });
    await vi.waitFor(() => expect(waiting).toHaveLength(1));
    await new Promise(setImmediate);
    const second = client.say({ text: "", count: 0 });
    expect(await Promise.all([first, second])).toHaveLength(2);
    expect(sessions).toHaveLength(2);
  });

  test("that breaks fails its calls, and the next call makes a new one", async () => {
    let isBroken = true;
    const { port } = await serveRaw((answer, { session }) => {
      if (isBroken) session?.destroy();
      else answer();
    });
    const client = clientOf(port);
    await expect(client.say({ text: "", count: 0 })).rejects.toMatchObject({ code: "unavailable" });
    isBroken = false;
    expect(await client.say({ text: "", count: 0 })).toEqual({ text: "a", count: 1 });
  });

  test("carries no more of a stream than its reader and the buffers take", async () => {
    const size = 8192;
    const item = Buffer.from([0, 0, 0, 0x20, 3, 10, 0x80, 0x40, ...Buffer.alloc(size, "a")]);
    let sent = 0;
    const { port } = await serveRaw((_, stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      const more = (): void => {
        while (sent++ < 200) if (!stream.write(item)) return void stream.once("drain", more);
        stream.end();
      };
      more();
    });
    let read = 0;
    let lead = 0;
    for await (const { text } of clientOf(port).repeat({ text: "", count: 0 })) {
      expect(text).toHaveLength(size);
      read++;
      for (let i = 0; i < 20; i++) await new Promise(setImmediate);
      lead = Math.max(lead, sent - read);
    }
    expect(read).toBe(200);
    expect(lead).toBeLessThan(60);
  });

  test("resets the stream of a cancelled call, whose request is not complete", async () => {
    const controller = new AbortController();
    let onClose!: (seen: readonly [isComplete: boolean, code: number | undefined]) => void;
    const ended = new Promise((resolve) => (onClose = resolve));
    const { port } = await serveRaw((_, stream) => {
      let isComplete = false;
      stream.on("data", () => controller.abort());
      stream.on("end", () => (isComplete = stream.rstCode === constants.NGHTTP2_NO_ERROR));
      stream.on("close", () => onClose([isComplete, stream.rstCode]));
    });
    const { writable } = clientOf(port).each({ signal: controller.signal });
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    await writer.write({ text: "", count: 1 });
    expect(await ended).toEqual([false, constants.NGHTTP2_CANCEL]);
  });
});

const ITEM = [10, 1, 97, 16, 1];
const envelope = (message: readonly number[], flags = 0): number[] => [flags, 0, 0, 0, message.length, ...message];

describe("a response", () => {
  interface Answer {
    readonly head?: Readonly<Record<string, string | number>>;
    readonly body?: readonly number[];
    readonly trailers?: Readonly<Record<string, string>>;
  }

  async function answering(
    { head = {}, body = [], trailers }: Answer,
    options: ClientOptions = {},
  ): Promise<EchoClient> {
    const port = await listen((stream) => {
      stream.respond(
        { ":status": 200, "content-type": "application/grpc", ...head },
        { waitForTrailers: trailers !== undefined },
      );
      stream.on("wantTrailers", () => stream.sendTrailers(trailers ?? {}));
      stream.end(Buffer.from(body));
    });
    return clientOf(port, { limits: { maxFrameBytes: 1000 }, ...options });
  }

  test.each<[string, Answer, string, string]>([
    ["without a status", { body: envelope(ITEM) }, "unknown", "without a status"],
    ["with a status that is no number", { trailers: { "grpc-status": "x" } }, "unknown", ""],
    ["with a status that is not known", { trailers: { "grpc-status": "99" } }, "unknown", ""],
    [
      "of a message of another flag",
      { body: envelope([123, 125], 2), trailers: { "grpc-status": "0" } },
      "internal",
      "flags 2",
    ],
    [
      "of a truncated message",
      { body: envelope(ITEM).slice(0, 7), trailers: { "grpc-status": "0" } },
      "internal",
      "ends within",
    ],
    [
      "of a message that is too large",
      { body: [0, 0, 1, 0, 0], trailers: { "grpc-status": "0" } },
      "resource_exhausted",
      "1000",
    ],
    [
      "of a message in an unknown compression",
      { head: { "grpc-encoding": "br" }, body: envelope([...gzipSync("a")], 1), trailers: { "grpc-status": "0" } },
      "internal",
      "compressed",
    ],
    [
      "of an empty message in no compression that is marked as compressed",
      { body: envelope([], 1), trailers: { "grpc-status": "0" } },
      "internal",
      "compressed",
    ],
    ["of malformed metadata", { trailers: { "grpc-status": "0", "x-bin": "*" } }, "internal", "base64"],
    [
      "with an error in its head",
      { head: { "grpc-status": "7", "grpc-message": "n%C3%B6%" } },
      "permission_denied",
      "nö%",
    ],
    ["of a proxy", { head: { ":status": 503, "content-type": "text/html" } }, "unavailable", "503"],
    ["of a proxy for gRPC", { head: { ":status": 401 } }, "unauthenticated", "401"],
    [
      "with messages and a status in its head",
      { head: { "grpc-status": "9" }, body: envelope(ITEM) },
      "unknown",
      "without a status",
    ],
    ["of another program", { head: { "content-type": "text/html" } }, "unknown", "text/html"],
    [
      "with details that are malformed",
      { head: { "grpc-status": "9", "grpc-status-details-bin": "////" } },
      "failed_precondition",
      "",
    ],
  ])("%s is an error", async (_, answer, code, message) => {
    const client = await answering(answer);
    const unary = await client.say({ text: "", count: 0 }).catch((error: unknown) => error);
    const { error } = await collect(client.repeat({ text: "", count: 0 }));
    for (const each of [unary, error]) {
      expect(each).toBeInstanceOf(RpcError);
      expect([(each as RpcError).code, (each as RpcError).message]).toEqual([code, expect.stringContaining(message)]);
    }
  });

  test.each(["head", "trailers"] as const)("may have any text in its %s", async (where) => {
    const failed = { "grpc-status": "5", "grpc-message": "none", "x-tail": "é" };
    const client = await answering({ [where]: failed });
    const unary = await client.say({ text: "", count: 0 }).catch((error: unknown) => error);
    const { error } = await collect(client.repeat({ text: "", count: 0 }));
    for (const each of [unary, error]) {
      expect(each).toMatchObject({ code: "not_found", message: "none" });
      expect((each as RpcError).metadata.getAll("x-tail")).toEqual(["é"]);
    }
  });

  test("may succeed with any text in its trailers", async () => {
    const client = await answering({ body: envelope(ITEM), trailers: { "grpc-status": "0", "x-tail": "é" } });
    const tails: unknown[] = [];
    const onTrailers = (trailers: Metadata): void => void tails.push(trailers.getAll("x-tail"));
    expect(await client.say({ text: "", count: 0 }, { onTrailers })).toEqual({ text: "a", count: 1 });
    const { items, error } = await collect(client.repeat({ text: "", count: 0 }, { onTrailers }));
    expect([items, error]).toEqual([[{ text: "a", count: 1 }], undefined]);
    expect(tails).toEqual([["é"], ["é"]]);
  });

  test("may have an empty message that is marked as compressed", async () => {
    const head = { "grpc-encoding": "gzip" };
    const answer = { head, body: envelope([], 1), trailers: { "grpc-status": "0" } };
    const client = await answering(answer, { compression: { algorithms: [gzip] } });
    const empty = { text: "", count: 0 };
    expect(await client.say(empty)).toEqual(empty);
    expect(await collect(client.repeat(empty))).toEqual({ items: [empty], error: undefined });
  });

  test("with headers of the Connect protocol has no meaning there", async () => {
    const head = { "trailer-x-tail": "head", "connect-content-encoding": "br", "quicrpc-refused": "1" };
    const client = await answering({ head, body: envelope(ITEM), trailers: { "grpc-status": "0" } });
    const tails: unknown[] = [];
    const onTrailers = (trailers: Metadata): void => void tails.push(...trailers);
    await client.say({ text: "", count: 0 }, { onTrailers });
    await collect(client.repeat({ text: "", count: 0 }, { onTrailers }));
    expect(tails).toEqual([]);
    const failing = await answering({ head, trailers: { "grpc-status": "14", "quicrpc-refused": "1" } });
    const unary = await failing.say({ text: "", count: 0 }).catch((error: unknown) => error);
    const { error } = await collect(failing.repeat({ text: "", count: 0 }));
    for (const each of [unary, error]) expect(each).toMatchObject({ code: "unavailable", refused: false });
  });

  test.each([
    ["no message", []],
    ["more than one message", [...envelope(ITEM), ...envelope(ITEM)]],
  ])("with %s for a single message is an error", async (what, body) => {
    const client = await answering({ body, trailers: { "grpc-status": "0" } });
    const failure = { code: "unimplemented", message: expect.stringContaining(what) as unknown };
    await expect(client.say({ text: "", count: 0 })).rejects.toMatchObject(failure);
    await expect(client.join([])).rejects.toMatchObject(failure);
  });
});

describe("a response of gRPC-Web", () => {
  const END = [...Buffer.from("grpc-status: 0\r\nX-Tail: tail\r\n")];

  function answering(body: readonly number[], maxMetadataBytes: number = 1000): EchoClient {
    const headers = { "content-type": "application/grpc-web+proto" };
    const fetch: Fetch = async () => new Response(Uint8Array.from(body), { headers });
    return webClientWith(1, { fetch, limits: { maxMetadataBytes } });
  }

  const longEnd = (end: string): number[] => {
    const bytes = Buffer.from(end);
    const head = Buffer.from([0x80, 0, 0, 0, 0]);
    head.writeUInt32BE(bytes.length, 1);
    return [...head, ...bytes];
  };

  test("may have trailers of other characters", async () => {
    for (const [value, expected] of [
      ["é", ["é"]],
      ["→", []],
    ] as const) {
      const tails: unknown[] = [];
      const onTrailers = (trailers: Metadata): void => void tails.push(trailers.getAll("x-tail"));
      const client = answering([...envelope(ITEM), ...longEnd(`grpc-status: 0\r\nx-tail: ${value}\r\n`)]);
      expect(await client.say({ text: "", count: 0 }, { onTrailers })).toEqual({ text: "a", count: 1 });
      expect((await collect(client.repeat({ text: "", count: 0 }, { onTrailers }))).error).toBeUndefined();
      expect(tails).toEqual([expected, expected]);
    }
  });

  test.each([
    ["more metadata than the limit", `x-tail: ${"a".repeat(1000)}\r\n`, "1000"],
    ["trailers far beyond the limit", "grpc-x:\r\n".repeat(8000), "the trailers have 72016 bytes"],
  ])("with %s is an error", async (_, trailers, text) => {
    const client = answering([...envelope(ITEM), ...longEnd(`grpc-status: 0\r\n${trailers}`)]);
    const failure = { code: "resource_exhausted", message: expect.stringContaining(text) as unknown };
    await expect(client.say({ text: "", count: 0 })).rejects.toMatchObject(failure);
    expect((await collect(client.repeat({ text: "", count: 0 }))).error).toMatchObject(failure);
  });

  test.each([
    ["the first 64 details", 100, 64],
    ["no details of a status that is too large", 70_000, 0],
  ])("has %s", async (_, given, read) => {
    // A `google.protobuf.Any` of the type "a" with one byte.
    const any = [26, 6, 10, 1, 97, 18, 1, 1];
    const details = Buffer.from(Array.from({ length: given }, () => any).flat()).toString("base64");
    const client = answering(longEnd(`grpc-status: 9\r\ngrpc-status-details-bin: ${details}\r\n`), 4_000_000);
    const error = await client.say({ text: "", count: 0 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "failed_precondition" });
    expect(connectDetails(error as RpcError)).toHaveLength(read);
  });

  test("has trailers in its last envelope", async () => {
    let tail: Metadata | undefined;
    const client = answering([...envelope(ITEM), ...envelope(END, 0x80)]);
    const onTrailers = (trailers: Metadata): void => void (tail = trailers);
    expect(await client.say({ text: "", count: 0 }, { onTrailers })).toEqual({ text: "a", count: 1 });
    expect(tail?.getAll("x-tail")).toEqual(["tail"]);
  });

  test.each<[string, readonly number[], string, string]>([
    ["no trailers", envelope(ITEM), "unknown", "without a status"],
    ["a message after the trailers", [...envelope(END, 0x80), ...envelope(ITEM)], "internal", "follows the trailers"],
    ["malformed trailers", [...envelope(ITEM), ...envelope([97, 58, 0], 0x80)], "internal", "trailer a is malformed"],
    ["compressed trailers", [...envelope(ITEM), ...envelope(END, 0x81)], "internal", "compressed"],
    ["an envelope of another flag", envelope(ITEM, 0x40), "internal", "flags 64"],
  ])("with %s is an error", async (_, body, code, message) => {
    const failure = { code, message: expect.stringContaining(message) as unknown };
    await expect(answering(body).say({ text: "", count: 0 })).rejects.toMatchObject(failure);
    expect((await collect(answering(body).repeat({ text: "", count: 0 }))).error).toMatchObject(failure);
  });
});
