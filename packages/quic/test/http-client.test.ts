import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ClientRequest, HttpRequest, Http3Session, QuicSession, QuicStream } from "../dist/index.js";
import { certificate } from "./certificates.js";
import {
  bytes,
  deferred,
  DRIVERS,
  echo,
  type Endpoint,
  onSessionEvents,
  readAll,
  selectivePath,
  World,
} from "./harness.js";
import { CONTROL, frame, headers, readFields, readFrames, varint } from "./http3-bytes.js";

const NO_ERROR = 0x100;
const FRAME_UNEXPECTED = 0x105;
const FRAME_ERROR = 0x106;
const EXCESSIVE_LOAD = 0x107;
const ID_ERROR = 0x108;
const REQUEST_REJECTED = 0x10b;
const REQUEST_CANCELLED = 0x10c;
const MESSAGE_ERROR = 0x10e;
const DECOMPRESSION_FAILED = 0x200;

const HEAD = headers({ ":status": "200" });
const data = (text: string): number[] => frame(0, [...bytes(text)]);

async function text(readable: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readable) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Reads a request at the server, then answers with what arrived and trailers. */
async function answerWithEcho(request: HttpRequest): Promise<void> {
  const chunks: Uint8Array[] = [];
  const { promise, resolve } = deferred<string>();
  const nothing = (): void => {};
  let trailers = "";
  request.stream.attach({
    onData: (chunk) => chunks.push(chunk),
    onTrailers: (fields) => (trailers = JSON.stringify(fields)),
    onEnd: () => resolve(trailers),
    onReset: nothing,
    onStopSending: nothing,
    onDrain: nothing,
    onClosed: nothing,
  });
  const { method, authority, path, fields } = request;
  request.respond(200, { "x-trailers": await promise, "x-head": JSON.stringify([method, authority, path, fields]) });
  request.stream.write(Buffer.concat(chunks));
  request.end({ "grpc-status": "0", "grpc-message": "" });
}

describe.each(DRIVERS)("a client of plain HTTP/3, %s driver", (driver) => {
  let world: World;
  let server: Endpoint;

  beforeEach(async () => {
    world = new World(driver);
    world.certificate = await certificate();
    server = world.bind();
  });
  afterEach(() => world.close());

  function connected(port = server.address.port): Promise<Http3Session> {
    const tls = { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }] };
    return world.bind().connectHttp3(`https://127.0.0.1:${port}`, { tls });
  }

  async function start(onHttpRequest: (request: HttpRequest) => void, maxStreams = 100): Promise<Http3Session> {
    server.listen({ tls: world.certificate, webTransport: {}, onHttpRequest, transport: { maxStreams } }, echo);
    return connected();
  }

  /** A server that writes its HTTP/3 by hand: its connection, and the client's first request there. */
  async function hostile(
    onRequest: (stream: QuicStream) => void | Promise<void>,
    control: readonly number[] = CONTROL,
    port?: number,
  ): Promise<{ client: Http3Session; session: QuicSession; controlStream: QuicStream }> {
    const accepted = deferred<QuicSession>();
    server.listen({ alpn: ["h3"], tls: world.certificate }, (session) => {
      session.attach(onSessionEvents({ onStream: (stream) => void onRequest(stream), onUniStream: () => {} }));
      accepted.resolve(session);
    });
    const client = await connected(port);
    const session = await accepted.promise;
    const controlStream = session.openUniStream();
    controlStream.write(Uint8Array.from(control));
    return { client, session, controlStream };
  }

  describe("and this server", () => {
    test("requests at once on one connection, with bodies and trailers both ways", async () => {
      const client = await start((request) => void answerWithEcho(request));
      const results = Array.from({ length: 150 }, async (_, n) => {
        const request = client.request({ method: "POST", path: `/${n}?x`, headers: { "x-n": `${n}` } });
        request.write(bytes("hello "));
        request.write(bytes(`${n}`));
        request.end({ "x-sum": `${n}` });
        const { status, fields } = await request.response;
        const head = JSON.stringify(["POST", `127.0.0.1:${server.address.port}`, `/${n}?x`, [["x-n", `${n}`]]]);
        expect([status, fields]).toEqual([
          200,
          [
            ["x-trailers", `[["x-sum","${n}"]]`],
            ["x-head", head],
          ],
        ]);
        expect(await text(request.readable)).toBe(`hello ${n}`);
        expect(await request.trailers).toEqual([
          ["grpc-status", "0"],
          ["grpc-message", ""],
        ]);
      });
      await Promise.all(results);
      client.close();
      expect((await client.closed).closeCode).toBe(NO_ERROR);
      expect(() => client.request({ path: "/" })).toThrow("closed");
    });

    test("a body that is not read stalls the server, and the response to HEAD has none", async () => {
      const large = new Uint8Array(8_000_000);
      const client = await start((request) => {
        if (request.method === "HEAD") {
          request.respond(200, { "content-length": "8000000" }, undefined, true);
          return;
        }
        expect(request.respond(200, {}, large)).toBe(false);
        request.stream.write(new Uint8Array(0), true);
      });
      const { response } = client.request({ method: "HEAD", path: "/", end: true });
      expect((await response).fields).toEqual([["content-length", "8000000"]]);
      const request = client.request({ path: "/", end: true });
      await request.response;
      expect(client.connection.stats().receivedBytes).toBeLessThan(large.length);
      expect((await text(request.readable)).length).toBe(large.length);
      expect(await request.trailers).toEqual([]);
    });

    test("either side cancels a request", async () => {
      const arrived = deferred<HttpRequest>();
      const gone = deferred<number>();
      const client = await start((request) => {
        if (request.path === "/reset") request.stream.reset(REQUEST_REJECTED);
        else if (request.path === "/half") {
          request.respond(200, {}, bytes("half"));
          request.stream.reset(EXCESSIVE_LOAD);
        } else {
          void readAll(request.stream).catch((error: Error) => gone.resolve(Number(error.message.slice(6))));
          arrived.resolve(request);
        }
      });
      const reset = client.request({ path: "/reset", end: true });
      await expect(reset.response).rejects.toMatchObject({ streamErrorCode: REQUEST_REJECTED, code: "ERR_QUIC_RESET" });
      const half = client.request({ path: "/half", end: true });
      await expect(half.trailers).rejects.toMatchObject({ streamErrorCode: EXCESSIVE_LOAD });
      const ours = client.request({ method: "POST", path: "/" });
      await arrived.promise;
      ours.reset(REQUEST_CANCELLED);
      ours.stopSending(REQUEST_CANCELLED);
      await expect(ours.response).rejects.toMatchObject({ code: "ERR_QUIC_CLOSED" });
      expect(await gone.promise).toBe(REQUEST_CANCELLED);
    });

    test("after GOAWAY requests in progress end, and the connection takes no more", async () => {
      const arrived = deferred<HttpRequest>();
      const client = await start(arrived.resolve, 1);
      const first = client.request({ path: "/", end: true });
      const waiting = client.request({ path: "/", end: true });
      const request = await arrived.promise;
      server.drain();
      await client.draining;
      await expect(waiting.response).rejects.toMatchObject({ streamErrorCode: REQUEST_REJECTED });
      expect(() => client.request({ path: "/" })).toThrow("GOAWAY");
      request.respond(204, {}, undefined, true);
      expect((await first.response).status).toBe(204);
      await first.trailers;
      const session = await connected().catch((error: Error) => error);
      expect(session).toMatchObject({ code: "ERR_QUIC_REFUSED" });
    });

    test("a connection that ends fails its requests", async () => {
      const client = await start(() => void server.close({ closeCode: NO_ERROR }));
      const request = client.request({ path: "/", end: true });
      await expect(request.response).rejects.toMatchObject({ code: "ERR_QUIC_CLOSED_BY_PEER", closeCode: NO_ERROR });
      await expect(request.trailers).rejects.toMatchObject({ closeCode: NO_ERROR });
      expect((await client.closed).closeCode).toBe(NO_ERROR);
    });

    test.each<[string, Parameters<Http3Session["request"]>[0]]>([
      ["request() has no option header: it has authority,", { path: "/", header: {} } as never],
      ["te must be", { path: "/", headers: { te: "gzip" } }],
      ["content-length", { path: "/", headers: { "content-length": "x" } }],
      [
        "content-length",
        {
          path: "/",
          headers: [
            ["content-length", "1"],
            ["content-length", "2"],
          ],
        },
      ],
      ["content-length", { path: "/", headers: { "content-length": "1" }, end: true }],
      ["the method", { method: "G ET", path: "/" }],
      ["the method", { method: "CONNECT", path: "/" }],
      ["path must", { path: "x" }],
      ["path must", { path: "*" }],
      ["path must", { path: "/ü" }],
      ["authority must", { path: "/", authority: "" }],
      ["cannot be sent", { path: "/", headers: { ":path": "/" } }],
      ["cannot be sent", { path: "/", headers: { connection: "close" } }],
      ["printable ASCII", { path: "/", headers: { "x-a": "a\nb" } }],
    ])("a request that cannot be sent is not: %s %j", async (message, init) => {
      const client = await start(() => {});
      expect(() => client.request(init)).toThrow(message);
    });

    test("options and URLs are checked", async () => {
      const client = world.bind();
      for (const url of ["https://user:pw@a.example", "https://user@a.example"]) {
        await expect(client.connectHttp3(url)).rejects.toThrow("the URL must not have a user name or password");
        await expect(client.connectWebTransport(url)).rejects.toThrow("the URL must not have a user name or password");
      }
      for (const path of ["/api", "/?x=1"]) {
        const dialled = client.connectHttp3(`https://a.example${path}`);
        await expect(dialled).rejects.toThrow(
          `the URL must not have a path or query, but each request has one: ${path}`,
        );
      }
      await expect(client.connectHttp3("http://127.0.0.1:1")).rejects.toThrow("https://");
      await expect(client.connectHttp3("https://127.0.0.1:1", { alpn: ["x"] } as object)).rejects.toThrow("alpn");
    });
  });

  describe("and a hostile server", () => {
    const answering =
      (frames: readonly number[], end = false) =>
      (stream: QuicStream): void =>
        void stream.write(Uint8Array.from(frames), end);

    test.each<[string, number[]]>([
      ["interim responses", [...headers({ ":status": "100" }), ...headers({ ":status": "103", link: "x" }), ...HEAD]],
      ["unknown frames", [...frame(0x21, [1, 2]), ...HEAD, ...frame(0x40, []), ...data("")]],
    ])("%s are skipped", async (_, frames) => {
      const { client } = await hostile(answering([...frames, ...data("ab")], true));
      const request = client.request({ path: "/", end: true });
      expect((await request.response).status).toBe(200);
      expect(await text(request.readable)).toBe("ab");
    });

    test.each<[string, number[], number]>([
      ["no head", [], MESSAGE_ERROR],
      ["only interim responses", headers({ ":status": "100" }), MESSAGE_ERROR],
      ["no status", headers({ "x-a": "1" }), MESSAGE_ERROR],
      ["a status of HTTP/1.1", headers({ ":status": "101" }), MESSAGE_ERROR],
      ["a pseudo-header of requests", headers({ ":status": "200", ":path": "/" }), MESSAGE_ERROR],
      [
        "less than its content length",
        [...headers({ ":status": "200", "content-length": "3" }), ...data("ab")],
        MESSAGE_ERROR,
      ],
      [
        "more than its content length",
        [...headers({ ":status": "200", "content-length": "1" }), ...data("ab")],
        MESSAGE_ERROR,
      ],
      ["trailers with a pseudo-header", [...HEAD, ...headers({ ":status": "200" })], MESSAGE_ERROR],
      [
        "too many interim responses",
        [...Array.from({ length: 17 }, () => headers({ ":status": "103" })).flat(), ...HEAD],
        EXCESSIVE_LOAD,
      ],
      ["fields that are too large", headers({ ":status": "200", "x-a": "a".repeat(16_340) }), EXCESSIVE_LOAD],
      ["trailers that are too large", [...HEAD, ...headers({ "x-a": "a".repeat(16_360) })], EXCESSIVE_LOAD],
    ])("a response with %s costs its request", async (_, frames, code) => {
      let count = 0;
      const { client } = await hostile((stream) => answering(count++ === 0 ? frames : HEAD, true)(stream));
      const request = client.request({ path: "/", end: true });
      await expect(request.trailers).rejects.toMatchObject({ streamErrorCode: code });
      expect((await client.request({ path: "/", end: true }).response).status).toBe(200);
    });

    test.each<[string, number[], boolean, number]>([
      ["DATA before HEADERS", data("a"), false, FRAME_UNEXPECTED],
      ["DATA behind trailers", [...HEAD, ...frame(1, [0, 0]), ...data("a")], false, FRAME_UNEXPECTED],
      ["trailers without end", [...HEAD, ...frame(1, [0, 0]), ...frame(1, [0, 0])], false, FRAME_UNEXPECTED],
      ["a push", frame(5, [0, 0, 0]), false, FRAME_UNEXPECTED],
      ["SETTINGS", frame(4, []), false, FRAME_UNEXPECTED],
      ["a frame of HTTP/2", [8, 0], false, FRAME_UNEXPECTED],
      ["a header section of 2^30 bytes", [1, ...varint(2 ** 30)], false, EXCESSIVE_LOAD],
      ["trailers of 2^30 bytes", [...HEAD, 1, ...varint(2 ** 30)], false, EXCESSIVE_LOAD],
      ["a dynamic reference", frame(1, [1, 0, 0x80]), false, DECOMPRESSION_FAILED],
      ["an end within a frame", [...HEAD, 0, 5, 1], true, FRAME_ERROR],
    ])("a response with %s costs the connection", async (_, frames, end, code) => {
      const { client, session } = await hostile(answering(frames, end));
      const request: ClientRequest = client.request({ path: "/", end: true });
      await expect(request.trailers).rejects.toMatchObject({ code: "ERR_QUIC_HTTP3" });
      expect((await session.closed).closeCode).toBe(code);
    });

    test("a head byte by byte", async () => {
      const { client } = await hostile(async (stream) => {
        for (const byte of [...HEAD, ...data("ab"), ...headers({ "x-a": "1" })]) {
          stream.write(Uint8Array.of(byte));
          // A packet of its own.
          await new Promise(setImmediate);
        }
        stream.write(new Uint8Array(0), true);
      });
      const request = client.request({ path: "/", end: true });
      expect(await request.response).toEqual({ status: 200, fields: [] });
      expect([await text(request.readable), await request.trailers]).toEqual(["ab", [["x-a", "1"]]]);
    });

    test("what a request is on the wire", async () => {
      const received = deferred<Buffer>();
      const { client } = await hostile((stream) => void readAll(stream).then(received.resolve));
      const request = client.request({ method: "PUT", path: "/a", authority: "a.example", headers: { "X-A": "1" } });
      request.write(bytes("body"));
      request.end({ "x-t": "2" });
      const frames = readFrames(await received.promise);
      expect(frames.map(([kind]) => kind)).toEqual([1, 0, 1]);
      expect([...readFields(frames[0]?.[1] ?? new Uint8Array(0))]).toEqual([
        [":method", "PUT"],
        [":scheme", "https"],
        [":authority", "a.example"],
        [":path", "/a"],
        ["x-a", "1"],
      ]);
    });

    test("a response before the end of the request, which the server then stops", async () => {
      const { client } = await hostile((stream) => {
        answering([...HEAD, ...data("no")], true)(stream);
        stream.stopSending(NO_ERROR);
      });
      const request = client.request({ method: "POST", path: "/" });
      request.write(bytes("begin"));
      expect((await request.response).status).toBe(200);
      expect(await text(request.readable)).toBe("no");
      request.write(bytes("goes nowhere"), true);
      expect(await request.trailers).toEqual([]);
    });

    test.each<[string, number[], number]>([
      ["a push stream", [1, 0], ID_ERROR],
      ["a second control stream", CONTROL, 0x103],
    ])("%s costs the connection", async (_, stream, code) => {
      const { session } = await hostile(() => {});
      session.openUniStream().write(Uint8Array.from(stream));
      expect((await session.closed).closeCode).toBe(code);
    });

    test("a request that is paused and resumed before its response", async () => {
      const { client } = await hostile(answering(HEAD, true));
      const request = client.request({ path: "/", end: true });
      request.pause();
      // Meanwhile the server acknowledges the first one too.
      await client.request({ path: "/", end: true }).trailers;
      request.resume();
      expect((await request.response).status).toBe(200);
    });

    test("GOAWAY rejects requests whose acknowledgement arrives just before it", async () => {
      const held: Buffer[] = [];
      let [holds, arrived] = [false, deferred()];
      const path = await selectivePath(
        server.address.port,
        () => true,
        (packet) => {
          if (!holds) return true;
          held.push(packet);
          arrived.resolve();
          return false;
        },
      );
      onTestFinished(() => path.close());
      const first = (stream: QuicStream): void => void (stream.id === 0 && answering(HEAD, true)(stream));
      const { client, controlStream } = await hostile(first, CONTROL, path.port);
      await client.request({ path: "/", end: true }).trailers;
      holds = true;
      const requests = Array.from({ length: 20 }, () => client.request({ path: "/", end: true }));
      await arrived.promise;
      arrived = deferred();
      controlStream.write(Uint8Array.from(frame(7, [4])));
      await arrived.promise;
      holds = false;
      for (const packet of held) path.answer(packet);
      for (const request of requests) {
        await expect(request.trailers).rejects.toMatchObject({ streamErrorCode: REQUEST_REJECTED });
      }
    });

    test("GOAWAY that is repeated ends a request once", async () => {
      const { client, controlStream } = await hostile(() => {});
      const request = client.request({ path: "/", end: true }) as ClientRequest & {
        receiveReset(freed: boolean, code: number): void;
      };
      // Called for each record of the engine.
      const receiveReset = request.receiveReset.bind(request);
      let ends = 0;
      request.receiveReset = (freed, code) => {
        ends++;
        receiveReset(freed, code);
      };
      controlStream.write(Uint8Array.from(Array.from({ length: 1000 }, () => frame(7, [0])).flat()));
      await expect(request.trailers).rejects.toMatchObject({ streamErrorCode: REQUEST_REJECTED });
      await client.draining;
      expect(ends).toBe(1);
    });

    test("GOAWAY rejects requests that the server has begun to answer, and must not take more", async () => {
      const streams: QuicStream[] = [];
      const both = deferred();
      const { client, session, controlStream } = await hostile((stream) => {
        if (streams.push(stream) === 2) both.resolve();
        answering(HEAD)(stream);
      });
      const [kept, rejected] = [client.request({ path: "/", end: true }), client.request({ path: "/", end: true })];
      await Promise.all([kept.response, rejected.response, both.promise]);
      controlStream.write(Uint8Array.from(frame(7, [4])));
      await client.draining;
      await expect(rejected.trailers).rejects.toMatchObject({ streamErrorCode: REQUEST_REJECTED });
      controlStream.write(Uint8Array.from(frame(7, [8])));
      await expect(kept.trailers).rejects.toMatchObject({ code: "ERR_QUIC_HTTP3" });
      expect((await session.closed).closeCode).toBe(ID_ERROR);
    });
  });
});
