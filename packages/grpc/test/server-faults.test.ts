// Responses of servers and proxies that end early, are refused, or cannot be read.
import { createCaller, type RpcError } from "@quicrpc/core";
import { type Fetch, gzip, http2Fetch, httpTransport } from "@quicrpc/http";
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream, type Settings } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  dataFrame,
  FRAME,
  type Frame,
  goawayFrame,
  headFrame,
  resetFrame,
  serveFrames,
} from "../../../test/raw-http2-server.js";
import { grpcTransport, type GrpcTransportOptions, grpcWebTransport } from "../src/index.js";
import { createEchoClient, type EchoClient, type Item } from "./generated/echo.js";
import { echoProtobuf } from "./generated/echo.protobuf.js";

const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
const REFUSED_STREAM = 7;
const EMPTY = { text: "", count: 0 };
/** More than a flow control window. */
const LARGE = { text: "a".repeat(1_000_000), count: 0 };
const GRPC = { "content-type": "application/grpc" };
/** The message `{ text: "a", count: 1 }`. */
const ITEM = Uint8Array.of(0, 0, 0, 0, 5, 10, 1, 97, 16, 1);

type Connect = (origin: string, options?: Readonly<Record<string, unknown>>) => unknown;

interface Client extends EchoClient {
  readonly close: () => void;
}

function clientOf(port: number, options: Partial<GrpcTransportOptions> = {}, dial: Connect = connect): Client {
  const fetch = http2Fetch(dial);
  onTestFinished(() => fetch.close());
  const transport = grpcTransport({ services: [echoProtobuf], fetch, ...options });
  const client = createEchoClient(transport.caller(`http://127.0.0.1:${port}`));
  return Object.assign(client, { close: () => fetch.close() });
}

/** A client of the Connect protocol, over HTTP/2. */
function connectClientOf(port: number): EchoClient {
  const fetch = http2Fetch(connect);
  onTestFinished(() => fetch.close());
  const caller = httpTransport({ fetch }).caller(`http://127.0.0.1:${port}`);
  return createEchoClient(createCaller((method, input, options) => caller.start(method, input, options)));
}

/** Answers the head of each request with frames. */
function answering(answer: (stream: number) => readonly Buffer[], maxConcurrentStreams?: number): Promise<number> {
  const onFrame = ({ type, stream }: Frame, socket: Socket): void => {
    if (type === FRAME.headers) socket.write(Buffer.concat(answer(stream)));
  };
  return serveFrames(onFrame, maxConcurrentStreams);
}

async function serve(answer: (stream: ServerHttp2Stream) => void, settings: Settings = {}): Promise<number> {
  const server = createServer({ settings }).on("stream", (stream) => answer(stream.on("error", () => {})));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function succeed(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200, ...GRPC }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(ITEM);
}

async function failure(result: Promise<unknown> | AsyncIterable<Item>): Promise<unknown> {
  try {
    if (Symbol.asyncIterator in result) for await (const _item of result);
    else await result;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

const kinds: [string, (client: EchoClient) => Promise<unknown>][] = [
  ["a unary call", (client) => failure(client.say(EMPTY))],
  ["a server stream", (client) => failure(client.repeat(EMPTY))],
];

describe.each(kinds)("%s", (_, call) => {
  test.each<[string, (stream: number) => readonly Buffer[]]>([
    ["after the head", (id) => [headFrame(id, GRPC), resetFrame(id, REFUSED_STREAM)]],
    ["after a message", (id) => [headFrame(id, GRPC), dataFrame(id, ITEM), resetFrame(id, REFUSED_STREAM)]],
    ["by the end of the session", (id) => [goawayFrame(id, REFUSED_STREAM)]],
  ])("that the server refuses %s may not be repeated", async (_, answer) => {
    const error = await call(clientOf(await answering(answer)));
    expect(error).toMatchObject({ code: "unavailable", refused: false });
  });

  test("that the server refuses before it handles it may be repeated", async () => {
    for (const frames of [(id: number) => [resetFrame(id, REFUSED_STREAM)], () => [goawayFrame(0, NO_ERROR)]]) {
      const error = await call(clientOf(await answering(frames)));
      expect(error).toMatchObject({ code: "unavailable", refused: true });
    }
  });

  test.each([NO_ERROR, INTERNAL_ERROR])(
    "that is reset with the code %i before its head is unavailable",
    async (code) => {
      const error = await call(clientOf(await answering((id) => [resetFrame(id, code)])));
      expect(error).toMatchObject({ code: "unavailable", refused: false });
    },
  );

  test("with a malformed header is an invalid argument", async () => {
    for (const name of ["connection", "transfer-encoding"]) {
      const error = await call(clientOf(1, { headers: { [name]: "close" } }));
      expect(error).toMatchObject({ code: "invalid_argument", refused: false });
    }
  });

  test("with credentials that headers do not carry is an invalid argument, and the error does not contain them", async () => {
    const error = (await call(clientOf(1, { credentials: "secret\nother" }))) as RpcError;
    expect(error).toMatchObject({ code: "invalid_argument" });
    expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
  });

  test.each(["head", "trailers"])("keeps its status if metadata in the %s cannot be read", async (where) => {
    for (const field of [{ "x-bin": "*" }, { "x-big": "a".repeat(30_000) }]) {
      const failed = { "grpc-status": "5", "grpc-message": "none", ...field };
      const port = await serve((stream) => {
        if (where === "head") return stream.respond({ ":status": 200, ...GRPC, ...failed }, { endStream: true });
        stream.respond({ ":status": 200, ...GRPC }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers(failed));
        return stream.end();
      });
      const error = (await call(clientOf(port))) as RpcError;
      expect(error).toMatchObject({ code: "not_found", message: "none" });
      expect(error.hint).toContain("its metadata is left out");
      expect(error.metadata.size).toBe(0);
    }
  });

  test.each([
    [503, "unavailable"],
    [401, "unauthenticated"],
  ])("by gRPC-Web has the meaning of the status %i, with an error in JSON", async (status, code) => {
    const json = { headers: { "content-type": "application/json" }, status };
    const fetch: Fetch = async () => new Response(JSON.stringify({ code, message: "no upstream" }), json);
    const transport = grpcWebTransport({ services: [echoProtobuf], fetch });
    const error = await call(createEchoClient(transport.caller("http://127.0.0.1")));
    expect(error).toMatchObject({ code, message: "no upstream" });
  });
});

test("a client stream that is reset without an error before its head is unavailable, though its upload is blocked", async () => {
  const port = await serveFrames(({ type, stream }, socket) => {
    if (type === FRAME.data) socket.write(resetFrame(stream, NO_ERROR));
  });
  const error = await failure(clientOf(port).join([LARGE, LARGE]));
  expect(error).toMatchObject({ code: "unavailable", refused: false });
});

test("a call by Connect that is reset without an error before its head is unavailable", async () => {
  const client = connectClientOf(await answering((id) => [resetFrame(id, NO_ERROR)]));
  for (const input of [EMPTY, LARGE])
    expect(await failure(client.say(input))).toMatchObject({ code: "unavailable", refused: false });
});

test("calls whose requests the server does not read leave no streams", async () => {
  const port = await answering((id) => [headFrame(id, { ...GRPC, "grpc-status": "8" }, true)], 2);
  const client = clientOf(port);
  for (let i = 0; i < 4; i++) {
    expect(await failure(client.say(LARGE))).toMatchObject({ code: "resource_exhausted" });
    expect(await failure(client.join([LARGE]))).toMatchObject({ code: "resource_exhausted" });
  }
  const other = connectClientOf(port);
  for (let i = 0; i < 4; i++) expect(await failure(other.say(LARGE))).toMatchObject({ code: "unknown" });
});

test("client streams that succeed are not aborted, and leave no streams", async () => {
  const port = await serve(succeed, { maxConcurrentStreams: 2 });
  const signals: (AbortSignal | undefined)[] = [];
  const client = clientOf(port, {}, (...given) => {
    const session = connect(...given);
    const request = session.request.bind(session);
    return Object.assign(session, {
      request(...[fields, options]: Parameters<typeof request>) {
        signals.push(options?.signal);
        return request(fields, options);
      },
    });
  });
  for (const items of [[EMPTY], [LARGE], [LARGE, LARGE]]) {
    for (let i = 0; i < 4; i++) expect(await client.join(items)).toEqual({ text: "a", count: 1 });
  }
  expect(signals.map((signal) => signal?.aborted)).toEqual(Array.from({ length: 12 }, () => false));
});

test("a call that waits for a place is refused when the server leaves", async () => {
  const requests: [stream: number, socket: Socket][] = [];
  const port = await serveFrames(({ type, stream }, socket) => {
    if (type === FRAME.headers) requests.push([stream, socket]);
  }, 1);
  let session: ClientHttp2Session | undefined;
  const client = clientOf(port, {}, (...given) => (session = connect(...given)));
  const first = failure(client.repeat(EMPTY));
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  await vi.waitFor(() => expect(session?.remoteSettings.maxConcurrentStreams).toBe(1));
  const second = failure(client.say(EMPTY));
  await new Promise(setImmediate);
  const [[, socket] = []] = requests;
  socket?.write(goawayFrame(1, NO_ERROR));
  expect(await second).toMatchObject({ code: "unavailable", refused: true });
  expect(requests).toHaveLength(1);
  socket?.destroy();
  expect(await first).toMatchObject({ code: "unavailable", refused: false });
});

test("closing `http2Fetch` lets a call end whose connection is being made", async () => {
  const port = await serve(succeed);
  const client: Client = clientOf(port, {}, (...given) => {
    const session = connect(...given);
    const request = session.request.bind(session);
    return Object.assign(session, {
      request(...fields: Parameters<typeof request>) {
        process.nextTick(() => client.close());
        return request(...fields);
      },
    });
  });
  expect(await client.say(EMPTY)).toEqual({ text: "a", count: 1 });
});

test("a session whose stream ids are used up is replaced", async () => {
  const port = await serve(succeed);
  let made = 0;
  const client = clientOf(port, {}, (...given) => {
    made++;
    const session = connect(...given);
    // Missing in the types of Node.
    const { setNextStreamID } = session as unknown as { readonly setNextStreamID: (id: number) => void };
    return session.on("connect", () => setNextStreamID.call(session, 2 ** 31 - 1));
  });
  expect(await client.say(EMPTY)).toEqual({ text: "a", count: 1 });
  expect(await failure(client.say(EMPTY))).toMatchObject({ code: "unavailable", refused: true });
  expect(await client.say(EMPTY)).toEqual({ text: "a", count: 1 });
  expect(made).toBe(2);
});

test("messages are not decompressed far ahead of a slow reader", async () => {
  const size = 200_000;
  const count = 20;
  // A string of this size, whose length has three bytes in protobuf.
  const packed = gzipSync(Buffer.concat([Buffer.from([10, 0xc0, 0x9a, 0x0c]), Buffer.alloc(size, "a")]));
  const port = await serve((stream) => {
    stream.respond({ ":status": 200, ...GRPC, "grpc-encoding": "gzip" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const head = Buffer.from([1, 0, 0, 0, 0]);
    head.writeUInt32BE(packed.length, 1);
    stream.end(Buffer.concat(Array.from({ length: count }, () => [head, packed]).flat()));
  });
  let decompressed = 0;
  const counting: typeof gzip = {
    ...gzip,
    async decompress(...given) {
      const bytes = await gzip.decompress(...given);
      decompressed++;
      return bytes;
    },
  };
  let read = 0;
  let lead = 0;
  for await (const { text } of clientOf(port, { compression: { algorithms: [counting] } }).repeat(EMPTY)) {
    expect(text).toHaveLength(size);
    read++;
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    lead = Math.max(lead, decompressed - read);
  }
  expect(read).toBe(count);
  expect(lead).toBeLessThanOrEqual(2);
});
