import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HeaderPairs, HttpRequest, ListenTransportOptions, QuicSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { bytes, deferred, DRIVERS, echo, Endpoint, onStreamEvents, World } from "./harness.js";
import { CONNECT, frame, headers, readFields, readFrames, varint } from "./http3-bytes.js";
import { Http3Client, type Request } from "./http3-client.js";

const GET = { ":method": "GET", ":scheme": "https", ":authority": "a.example", ":path": "/x?y=1" };
const POST = { ...GET, ":method": "POST" };
const NO_ERROR = 0x100;
const INTERNAL_ERROR = 0x102;
const FRAME_UNEXPECTED = 0x105;
const FRAME_ERROR = 0x106;
const EXCESSIVE_LOAD = 0x107;
const REQUEST_REJECTED = 0x10b;
const REQUEST_CANCELLED = 0x10c;
const MESSAGE_ERROR = 0x10e;

const data = (text: string): number[] => frame(0, [...bytes(text)]);

/** One request as a server's handler saw it. */
class Seen {
  readonly request: HttpRequest;
  readonly chunks: Uint8Array[] = [];
  readonly end = deferred<string>();
  trailers: HeaderPairs | undefined;
  readonly stop = deferred<number>();
  readonly sent = deferred();
  drained = deferred();

  constructor(request: HttpRequest) {
    this.request = request;
    request.stream.attach(
      onStreamEvents({
        onData: (chunk) => this.chunks.push(chunk),
        onTrailers: (trailers) => (this.trailers = trailers),
        onEnd: () => this.end.resolve("end"),
        onReset: (code) => this.end.resolve(`reset ${code}`),
        onStopSending: (code) => this.stop.resolve(code),
        onClosed: () => this.end.resolve("closed"),
        onSent: () => this.sent.resolve(),
        onDrain: () => {
          this.drained.resolve();
          this.drained = deferred();
        },
      }),
    );
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

describe.each(DRIVERS)("requests of plain HTTP/3, %s driver", (driver) => {
  let world: World;
  let server: Endpoint;
  let seen: Seen[] = [];
  let arrived = deferred<Seen>();

  beforeEach(() => {
    world = new World(driver);
    seen = [];
    arrived = deferred();
  });
  afterEach(() => world.close());

  async function start(
    transport: ListenTransportOptions = {},
    onHttpRequest: (request: HttpRequest) => void = (request) => {
      const one = new Seen(request);
      seen.push(one);
      arrived.resolve(one);
      arrived = deferred();
    },
    admission: "automatic" | "manual" = "automatic",
  ): Promise<void> {
    world.certificate = await certificate();
    server = world.bind();
    server.listen({ tls: world.certificate, webTransport: {}, onHttpRequest, transport, admission }, echo);
  }

  async function connected(): Promise<[client: Http3Client, session: QuicSession]> {
    const session = await world.dial(server, { alpn: ["h3"] });
    return [new Http3Client(session, { 8: 1, 0x33: 1 }), session];
  }

  async function asked(ask: () => Request): Promise<[request: Request, seen: Seen]> {
    const next = arrived.promise;
    const request = ask();
    return [request, await next];
  }

  /** The connection takes requests. */
  async function isWell(client: Http3Client): Promise<void> {
    const [request, { request: got }] = await asked(() => client.connect(GET, [], true));
    got.respond(200, {}, bytes("well"), true);
    expect((await request.answer()).body.toString()).toBe("well");
  }

  test("a request and its answer, of which the server learns that it has arrived", async () => {
    await start();
    const [client] = await connected();
    const fields = { ...GET, "x-one": "1", cookie: "a=b" };
    const [request, one] = await asked(() => client.connect(fields, [], true));
    const { method, authority, path, session } = one.request;
    expect({ method, authority, path }).toEqual({ method: "GET", authority: "a.example", path: "/x?y=1" });
    expect(one.request.fields).toEqual([
      ["x-one", "1"],
      ["cookie", "a=b"],
    ]);
    expect(session.remoteAddress.host).toBe("127.0.0.1");
    expect(await one.end.promise).toBe("end");
    one.request.respond(201, { "content-type": "text/plain" }, bytes("hello"), true);
    const { fields: answered, body } = await request.answer();
    expect([...answered]).toEqual([
      [":status", "201"],
      ["content-type", "text/plain"],
    ]);
    expect(body.toString()).toBe("hello");
    await one.sent.promise;
  });

  test("bodies in many pieces both ways, with unknown frames and trailers, byte by byte", async () => {
    await start();
    const [client] = await connected();
    const [request, one] = await asked(() => client.connect({ ...POST, "content-length": "8" }));
    const frames = [...data("ab"), ...frame(0x21, [1, 2, 3]), ...data(""), ...data("cdefgh"), ...frame(1, [0, 0])];
    for (const byte of [...frames, ...frame(0x21, [])]) {
      request.stream.write(Uint8Array.of(byte));
      // A packet of its own.
      await new Promise(setImmediate);
    }
    request.stream.write(new Uint8Array(0), true);
    expect(await one.end.promise).toBe("end");
    expect(one.body).toBe("abcdefgh");
    one.request.respond(200);
    for (const letter of "xyz") one.request.stream.write(bytes(letter));
    one.request.stream.write(new Uint8Array(0), true);
    expect((await request.answer()).body.toString()).toBe("xyz");
  });

  test("trailers of a request, also while it is paused, and of its response", async () => {
    await start({}, (request) => {
      request.stream.pause();
      arrived.resolve(new Seen(request));
    });
    const [client] = await connected();
    const trailers = headers({ "x-sum": "5", "x-sum-2": "" });
    const [request, one] = await asked(() => client.connect(POST, [...data("hello"), ...trailers], true));
    one.request.stream.resume();
    expect(await one.end.promise).toBe("end");
    expect([one.body, one.trailers]).toEqual([
      "hello",
      [
        ["x-sum", "5"],
        ["x-sum-2", ""],
      ],
    ]);
    one.request.respond(200, {}, bytes("well"));
    expect(() => one.request.end({ ":status": "200" })).toThrow("cannot be sent");
    one.request.end({ "grpc-status": "0" });
    expect((await request.answer()).body.toString()).toBe("well");
    const frames = readFrames(request.data);
    expect(frames.map(([kind]) => kind)).toEqual([1, 0, 1]);
    expect([...readFields(frames[2]?.[1] ?? new Uint8Array(0))]).toEqual([["grpc-status", "0"]]);
    await one.sent.promise;
  });

  test.each([[{ ":path": "/" }], [{ "X-A": "1" }], [{ connection: "close" }]])(
    "trailers that are malformed cost the request: %j",
    async (trailers) => {
      await start();
      const [client] = await connected();
      const request = client.connect(POST, [...data("a"), ...headers(trailers)], true);
      await expect(request.answer()).rejects.toThrow(`reset ${MESSAGE_ERROR}`);
      await isWell(client);
    },
  );

  test("a body that is not read stalls its client, and one that the client does not read the server", async () => {
    await start({ streamReceiveWindow: 65_536, sendWindow: 65_536, highWaterMark: 65_536 });
    const [client] = await connected();
    const large = Uint8Array.from(
      frame(
        0,
        Array.from({ length: 300_000 }, (_, at) => at % 251),
      ),
    );
    const [request, one] = await asked(() => client.connect(POST));
    one.request.stream.pause();
    let room = true;
    while (room) room = request.stream.write(large);
    expect(Buffer.concat(one.chunks).length).toBeLessThan(65_536);
    one.request.stream.resume();
    request.stream.pause();
    one.request.respond(200);
    room = true;
    while (room) room = one.request.stream.write(large);
    const { promise: drained } = one.drained;
    request.stream.resume();
    await drained;
  });

  test("a client cancels by reset or stop, and so does the server", async () => {
    await start();
    const [client] = await connected();
    const [reset, one] = await asked(() => client.connect(POST, data("a")));
    reset.stream.reset(REQUEST_CANCELLED);
    expect(await one.end.promise).toBe(`reset ${REQUEST_CANCELLED}`);
    const [stopped, two] = await asked(() => client.connect(POST, [], true));
    stopped.stream.stopSending(REQUEST_CANCELLED);
    expect(await two.stop.promise).toBe(REQUEST_CANCELLED);
    const [refused, three] = await asked(() => client.connect(POST, data("a")));
    three.request.stream.stopSending(NO_ERROR);
    three.request.respond(413, {}, bytes("no"), true);
    expect((await refused.answer()).fields.get(":status")).toBe("413");
    expect(await refused.until(({ stopCode }) => stopCode)).toBe(NO_ERROR);
    const [failed, four] = await asked(() => client.connect(POST));
    four.request.respond(200, {}, bytes("half"));
    four.request.stream.reset(INTERNAL_ERROR);
    await expect(failed.answer()).rejects.toThrow(`reset ${INTERNAL_ERROR}`);
    await isWell(client);
  });

  test.each<[string, Record<string, string>, number[], boolean]>([
    ["less than its content length", { ...POST, "content-length": "3" }, data("ab"), true],
    ["more than its content length", { ...POST, "content-length": "1" }, data("ab"), false],
    ["no number as content length", { ...POST, "content-length": "1x" }, [], true],
    ["an empty content length", { ...POST, "content-length": "" }, [], true],
    ["no path", { ":method": "GET", ":scheme": "https", ":authority": "a" }, [], true],
    ["a path that is none", { ...GET, ":path": "x" }, [], true],
    ["a path with a space", { ...GET, ":path": "/a b" }, [], true],
    ["no authority", { ":method": "GET", ":scheme": "https", ":path": "/" }, [], true],
    ["two authorities", { ...GET, host: "b.example" }, [], true],
    ["another scheme", { ...GET, ":scheme": "file" }, [], true],
    ["no method", { ":scheme": "https", ":authority": "a", ":path": "/" }, [], true],
    ["a method that is no token", { ...GET, ":method": "G ET" }, [], true],
    ["a protocol without CONNECT", { ...GET, ":protocol": "webtransport" }, [], true],
    ["a pseudo-header of answers", { ...GET, ":status": "200" }, [], true],
    ["a pseudo-header behind a field", { "x-a": "1", ...GET }, [], true],
    ["a field of one connection", { ...GET, connection: "close" }, [], true],
    ["a field in upper case", { ...GET, "X-A": "1" }, [], true],
    ["a transfer coding", { ...GET, te: "gzip" }, [], true],
    ["a line break in a value", { ...GET, "x-a": "a\r\nb: c" }, [], true],
  ])("%s costs the request", async (_, fields, frames, end) => {
    await start();
    const [client] = await connected();
    const request = client.connect(fields, frames, end);
    await expect(request.answer()).rejects.toThrow(`reset ${MESSAGE_ERROR}`);
    await isWell(client);
  });

  test.each<[string, number[], boolean, number]>([
    ["DATA behind trailers", [...data("a"), ...frame(1, [0, 0]), ...data("b")], false, FRAME_UNEXPECTED],
    ["trailers twice", [...frame(1, [0, 0]), ...frame(1, [0, 0])], false, FRAME_UNEXPECTED],
    ["SETTINGS", frame(4, []), false, FRAME_UNEXPECTED],
    ["a frame of HTTP/2", [8, 0], false, FRAME_UNEXPECTED],
    ["trailers that are too large", [1, ...varint(16_385)], false, EXCESSIVE_LOAD],
    ["an end within a frame", [0, 5, 1], true, FRAME_ERROR],
  ])("%s behind a request's head costs the connection", async (_, frames, end, code) => {
    await start();
    const [client, session] = await connected();
    const [, one] = await asked(() => client.connect(POST, frames, end));
    expect((await session.closed).closeCode).toBe(code);
    expect(await one.end.promise).toBe("closed");
  });

  test("fields that are too large are answered with 431", async () => {
    await start();
    const [client] = await connected();
    const request = client.connect({ ...GET, "x-a": "a".repeat(16_200) }, [], true);
    expect((await request.answer()).fields.get(":status")).toBe("431");
    await isWell(client);
  });

  test("of more requests at once than there may be the others are rejected, unserved", async () => {
    await start({ maxStreams: 300 });
    const [client] = await connected();
    await isWell(client);
    // It is over when its client has acknowledged its answer.
    await seen[0]?.sent.promise;
    const requests = Array.from({ length: 130 }, () => client.connect(GET, [], true));
    const outcomes = requests.map((request) =>
      request.answer().then(
        () => "answered",
        (error: Error) => error.message,
      ),
    );
    expect(await Promise.race(outcomes)).toBe(`reset ${REQUEST_REJECTED}`);
    while (seen.length < 1 + 128) await arrived.promise;
    for (const { request } of seen.slice(1)) request.respond(204, {}, undefined, true);
    const all = await Promise.all(outcomes);
    expect(all.filter((outcome) => outcome === "answered")).toHaveLength(128);
    await Promise.all(seen.map(({ sent }) => sent.promise));
    await isWell(client);
  });

  test("without sessions of WebTransport the limit of streams does not grow", async () => {
    await start({ maxStreams: 20, maxStreamsCeiling: 1000 });
    const [client, session] = await connected();
    const requests = Array.from({ length: 40 }, () => client.connect(GET, [], true));
    while (seen.length < 20) await arrived.promise;
    expect(session.stats().waitingStreams).toBe(20);
    let answered = 0;
    while (answered < 40) {
      while (answered === seen.length) await arrived.promise;
      seen[answered++]?.request.respond(204, {}, undefined, true);
    }
    await Promise.all(requests.map((request) => request.answer()));
  });

  test("a client that begins and cancels requests without end loses its connection", async () => {
    await start();
    const [client, session] = await connected();
    const [other] = await connected();
    const ended = session.closed;
    const gone = ended.then(() => [undefined] as const);
    for (;;) {
      const [request] = await Promise.race([asked(() => client.connect(POST)), gone]);
      if (request === undefined) break;
      request.stream.reset(REQUEST_CANCELLED);
      request.stream.stopSending(REQUEST_CANCELLED);
    }
    expect((await ended).closeCode).toBe(EXCESSIVE_LOAD);
    expect(seen.length).toBeGreaterThan(1000);
    expect(seen.length).toBeLessThan(10_000);
    await isWell(other);
  });

  test("half-open requests are bounded, and a connection with nothing else is closed in time", async () => {
    await start({ handshakeTimeoutMs: 500, maxStreams: 100 });
    const [client, session] = await connected();
    for (let n = 0; n < 50; n++) client.connect({}).stream.write(Uint8Array.of(1, 0x40));
    expect((await session.closed).closeCode).toBe(NO_ERROR);
  });

  test("a connection with a request in progress is not, and counts as a session until it ends", async () => {
    await start({ handshakeTimeoutMs: 300, maxSessions: 1 });
    const [client] = await connected();
    const [request, one] = await asked(() => client.connect(GET, [], true));
    // One that came later has run out of time.
    const bystander = world.bind();
    const late = world.dial(server, { alpn: ["h3"] }, bystander);
    await expect(late).rejects.toMatchObject({ code: "ERR_QUIC_REFUSED" });
    one.request.respond(200, {}, bytes("late"), true);
    expect((await request.answer()).body.toString()).toBe("late");
    await isWell(client);
  });

  test("where there are as many sessions as may be, a connection's first request gets 503", async () => {
    // All three are connected before any of them counts.
    await start({ maxSessions: 2 }, undefined, "manual");
    const [[first, session], [second], [third]] = [await connected(), await connected(), await connected()];
    await isWell(first);
    await isWell(second);
    expect((await third.connect(GET, [], true).answer()).fields.get(":status")).toBe("503");
    session.close();
    await session.closed;
    for (;;) {
      // The server learns of the end in its own time.
      const next = arrived.promise;
      const answer = third.connect(GET, [], true).answer();
      const served = await Promise.race([next, answer.then(() => undefined)]);
      if (served === undefined) continue;
      served.request.respond(200, {}, undefined, true);
      expect((await answer).fields.get(":status")).toBe("200");
      break;
    }
  });

  test("a drain lets requests in progress end, and rejects later ones", async () => {
    await start();
    const [client] = await connected();
    const [request, one] = await asked(() => client.connect(GET, [], true));
    server.drain();
    await expect(client.connect(GET, [], true).answer()).rejects.toThrow(`reset ${REQUEST_REJECTED}`);
    one.request.respond(200, {}, bytes("done"), true);
    expect((await request.answer()).body.toString()).toBe("done");
  });

  test("requests beside a session of WebTransport on one connection", async () => {
    await start();
    const [client] = await connected();
    const session = client.connect(CONNECT);
    await session.answered();
    await isWell(client);
    const stream = client.open(0, bytes("echo"), true);
    expect(await stream.until(({ data, ended }) => (ended ? data.toString() : undefined))).toBe("echo");
    await isWell(client);
  });

  test("a handler that throws costs its request", async () => {
    const failures: unknown[] = [];
    world.certificate = await certificate();
    server = Endpoint.bind({ host: "127.0.0.1", driver, onError: (error) => failures.push(error) });
    const onHttpRequest = (): void => {
      throw new Error("broken");
    };
    server.listen({ tls: world.certificate, webTransport: {}, onHttpRequest }, echo);
    const [client] = await connected();
    await expect(client.connect(GET, [], true).answer()).rejects.toThrow(`reset ${INTERNAL_ERROR}`);
    expect(failures).toMatchObject([{ message: "broken" }]);
    await server.close();
  });

  test("a server's fields are checked", async () => {
    await start();
    const [client] = await connected();
    const [request, { request: got }] = await asked(() => client.connect(GET, [], true));
    expect(() => got.respond(200, { "transfer-encoding": "chunked" })).toThrow("cannot be sent");
    expect(() => got.respond(200, { "x-a": "a\nb" })).toThrow("printable ASCII");
    got.respond(200, [["x-a", "1"]], bytes("ok"), true);
    expect((await request.answer()).fields.get("x-a")).toBe("1");
    expect(() => world.bind().listen({ tls: world.certificate, alpn: ["x"], onHttpRequest() {} }, echo)).toThrow(
      "webTransport",
    );
  });
});
