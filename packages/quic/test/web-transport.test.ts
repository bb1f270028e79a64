import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Endpoint,
  WebTransport,
  type WebTransportConnectOptions,
  WebTransportError,
  type WebTransportListenOptions,
  type WebTransportRequest,
  WebTransportSession,
} from "../dist/index.js";
import { certificate, type TestCertificate } from "./certificates.js";
import {
  bytes,
  deferred,
  DRIVERS,
  echo,
  endings,
  isPortProbe,
  onSessionEvents,
  onStreamEvents,
  readAll,
  World,
} from "./harness.js";

let pinned: TestCertificate;

function trust(): { serverCertificateHashes: { algorithm: "sha-256"; value: Uint8Array }[] } {
  return { serverCertificateHashes: [{ algorithm: "sha-256", value: pinned.hash }] };
}

function trustOptions(): WebTransportConnectOptions {
  return { tls: trust() };
}

function urlOf(server: Endpoint, path = "/"): string {
  return `https://127.0.0.1:${server.address.port}${path}`;
}

async function text(readable: ReadableStream<Uint8Array>): Promise<string> {
  let all = "";
  for await (const chunk of readable) all += Buffer.from(chunk).toString();
  return all;
}

async function first<T>(streams: ReadableStream<T>): Promise<T> {
  const reader = streams.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return value as T;
}

describe.each(DRIVERS)("WebTransport over HTTP/3, %s driver", (driver) => {
  let world: World;
  beforeEach(async () => {
    world = new World(driver);
    pinned = await certificate();
  });
  afterEach(() => world.close());

  function serve(
    onSession: (session: WebTransportSession) => void,
    webTransport: WebTransportListenOptions = {},
    alpn: string[] = [],
  ): Endpoint {
    const server = world.bind();
    server.listen({ alpn, tls: pinned, webTransport }, (session) => onSession(session as WebTransportSession));
    return server;
  }

  function dial(
    server: Endpoint,
    options: WebTransportConnectOptions & { path?: string } = {},
  ): Promise<WebTransportSession> {
    const { path, ...rest } = options;
    return world.bind().connectWebTransport(urlOf(server, path), { tls: trust(), ...rest });
  }

  async function pair(
    webTransport: WebTransportListenOptions = {},
  ): Promise<[WebTransportSession, WebTransportSession]> {
    const accepted = deferred<WebTransportSession>();
    const server = serve(accepted.resolve, webTransport);
    const client = await dial(server);
    return [client, await accepted.promise];
  }

  test("streams opened in one turn end in the order of their priorities, which they get after their header", async () => {
    const [client, server] = await pair();
    const ended = endings(server, 6);
    const priorities = { low: -1, none: undefined, even: 0, middle: 2, high: 5, first: Number.POSITIVE_INFINITY };
    for (const [name, priority] of Object.entries(priorities)) {
      const stream = client.openStream();
      if (priority !== undefined) stream.setPriority(priority);
      // Two of this size are more than the server receives in one turn, where it takes streams in the order of their ids.
      stream.write(new Uint8Array(300_000).fill(name.charCodeAt(0)), true);
    }
    const order = await ended;
    // Within one priority they take turns.
    expect(order.slice(0, 3)).toEqual(["f", "h", "m"]);
    expect(order.slice(3, 5).sort()).toEqual(["e", "n"]);
    expect(order[5]).toBe("l");
  });

  test("a stream reaches the other side before anything is written on it", async () => {
    const [client, server] = await pair();
    const streams = deferred<boolean>();
    server.attach(onSessionEvents({ onStream: () => streams.resolve(true) }));
    client.openStream();
    expect(await streams.promise).toBe(true);
  });

  test("streams of both kinds and both directions, through the direct interface", async () => {
    const [client, server] = await pair();
    echo(server);
    const stream = client.openStream();
    const reply = readAll(stream);
    stream.write(bytes("to and fro"), true);
    expect((await reply).toString()).toBe("to and fro");

    const arrived = deferred<Buffer>();
    client.attach(onSessionEvents({ onUniStream: (uni) => void readAll(uni).then(arrived.resolve, arrived.reject) }));
    server.openUniStream().write(bytes("one way"), true);
    expect((await arrived.promise).toString()).toBe("one way");
  });

  test("the same through the W3C members", async () => {
    const [client, server] = await pair();
    for (const [here, there] of [
      [client, server],
      [server, client],
    ] as const) {
      const stream = await here.createBidirectionalStream();
      const writer = stream.writable.getWriter();
      await writer.write(bytes("ping"));
      await writer.close();
      const remote = await first(there.incomingBidirectionalStreams);
      await remote.readable.pipeTo(remote.writable);
      expect(await text(stream.readable)).toBe("ping");

      const uni = (await here.createUnidirectionalStream()).getWriter();
      await uni.write(bytes("one way"));
      await uni.close();
      expect(await text(await first(there.incomingUnidirectionalStreams))).toBe("one way");
    }
  });

  test("ten megabytes arrive as they were", async () => {
    const [client, server] = await pair();
    echo(server);
    const data = new Uint8Array(10_000_000).map((_, at) => at * 7);
    const stream = client.openStream();
    const reply = readAll(stream);
    stream.write(data, true);
    expect(Buffer.compare(await reply, data)).toBe(0);
  });

  test("datagrams both ways, direct and W3C", async () => {
    const [client, server] = await pair();
    const arrived = deferred<string>();
    server.attach(onSessionEvents({ onDatagram: (datagram) => arrived.resolve(Buffer.from(datagram).toString()) }));
    expect(client.datagrams.maxSize).toBeGreaterThan(1000);
    expect(client.datagrams.send(bytes("hello"))).toBe(true);
    expect(client.datagrams.send(new Uint8Array(client.datagrams.maxSize + 1))).toBe(false);
    expect(await arrived.promise).toBe("hello");
    await server.datagrams.writable.getWriter().write(bytes("back"));
    expect(Buffer.from(await first(client.datagrams.readable)).toString()).toBe("back");
  });

  test("the server sees path, authority, origin, headers and address, and answers with a subprotocol and headers", async () => {
    const seen = deferred<WebTransportRequest>();
    const accepted = deferred<WebTransportSession>();
    const server = serve(accepted.resolve, {
      async onRequest(request) {
        seen.resolve(request);
        await Promise.resolve();
        return { protocol: "chat.v2", headers: { "x-answer": "yes" } };
      },
    });
    const client = await dial(server, {
      path: "/rooms/7?as=me",
      protocols: ["chat.v1", "chat.v2"],
      headers: { origin: "https://example.com", authorization: "Bearer x" },
    });
    const request = await seen.promise;
    expect(request.path).toBe("/rooms/7?as=me");
    expect(request.authority).toBe(`127.0.0.1:${server.address.port}`);
    expect(request.origin).toBe("https://example.com");
    expect(request.headers.get("authorization")).toBe("Bearer x");
    expect(request.protocols).toEqual(["chat.v1", "chat.v2"]);
    expect(request.remoteAddress.host).toBe("127.0.0.1");
    expect(client.protocol).toBe("chat.v2");
    expect(client.headers.get("x-answer")).toBe("yes");
    const remote = await accepted.promise;
    expect([remote.protocol, remote.path]).toEqual(["chat.v2", "/rooms/7?as=me"]);
  });

  test.each([403, 404, 429, 503])("a request refused with %i rejects with that status", async (status) => {
    const server = serve(() => {}, { onRequest: () => Promise.resolve({ status }) });
    await expect(dial(server)).rejects.toMatchObject({ code: "ERR_QUIC_SESSION_REJECTED", status });
  });

  test("close codes and reasons reach the other side, from either", async () => {
    for (const flip of [false, true]) {
      const both = await pair();
      const [here, there] = flip ? [both[1], both[0]] : both;
      const stream = there.openStream();
      const lost = deferred<Error | undefined>();
      stream.attach(onStreamEvents({ onClosed: lost.resolve }));
      here.close({ closeCode: 4_000_000_000, reason: "tschüß" });
      expect(await there.closed).toEqual({ closeCode: 4_000_000_000, reason: "tschüß" });
      expect(await here.closed).toEqual({ closeCode: 4_000_000_000, reason: "tschüß" });
      expect(await lost.promise).toMatchObject({ closeCode: 4_000_000_000 });
      expect(() => there.openStream()).toThrow("closed");
    }
  });

  test("the W3C class", async () => {
    const accepted = deferred<WebTransportSession>();
    const server = serve(accepted.resolve, { protocols: ["v1"] });
    const transport = new WebTransport(urlOf(server), {
      ...trust(),
      protocols: ["v2", "v1"],
      requireUnreliable: true,
      congestionControl: "low-latency",
    });
    expect([transport.reliability, transport.protocol]).toEqual(["pending", ""]);
    // Before it is ready: opened, written and read as soon as it is.
    const early = transport.createUnidirectionalStream();
    const datagramWriter = transport.datagrams.writable.getWriter();
    const datagram = datagramWriter.write(bytes("early"));
    const incoming = first(transport.incomingBidirectionalStreams);
    await transport.ready;
    expect([transport.reliability, transport.protocol]).toEqual(["supports-unreliable", "v1"]);
    const remote = await accepted.promise;
    await (await early).close();
    expect(await text(await first(remote.incomingUnidirectionalStreams))).toBe("");
    await datagram;
    expect(Buffer.from(await first(remote.datagrams.readable)).toString()).toBe("early");
    await (await remote.createBidirectionalStream()).writable.getWriter().write(bytes("hi"));
    expect((await incoming).readable).toBeInstanceOf(ReadableStream);
    expect((await transport.getStats()).packetsSent).toBeGreaterThan(0);
    remote.drain();
    await transport.draining;
    transport.close({ closeCode: 3, reason: "done" });
    expect(await transport.closed).toEqual({ closeCode: 3, reason: "done" });
    expect(await remote.closed).toEqual({ closeCode: 3, reason: "done" });
  });

  test("the W3C class fails as the specification says", async () => {
    for (const url of ["nonsense", "http://a/", "https://a/#b"]) {
      expect(() => new WebTransport(url)).toThrow(DOMException);
    }
    const server = serve(() => {}, { onRequest: () => ({ status: 403 }) });
    const refused = new WebTransport(urlOf(server), trust());
    await expect(refused.ready).rejects.toBeInstanceOf(WebTransportError);
    await expect(refused.closed).rejects.toMatchObject({ source: "session", streamErrorCode: null, status: 403 });
    await expect(refused.createBidirectionalStream()).rejects.toMatchObject({ status: 403 });
    const given = new WebTransport(urlOf(server), trust());
    given.close();
    await expect(given.ready).rejects.toMatchObject({ source: "session" });
    const other = await certificate();
    const hashes = [{ algorithm: "sha-256" as const, value: other.hash }];
    const mistrusted = new WebTransport(urlOf(server), { serverCertificateHashes: hashes });
    await expect(mistrusted.ready).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_HASH_MISMATCH" });
  });

  test("a clean close is no error", async () => {
    const [client, server] = await pair();
    const closed = deferred<unknown>();
    server.attach(onSessionEvents({ onClosed: (info, error) => closed.resolve([info, error]) }));
    client.close();
    expect(await closed.promise).toEqual([{ closeCode: 0, reason: "" }, undefined]);
  });

  test("reset and stop-sending codes survive both ways", async () => {
    const [client, server] = await pair();
    for (const code of [0, 1, 29, 30, 31, 0xffff_ffff]) {
      const arriving = deferred<unknown>();
      const stream = client.openStream();
      stream.write(bytes("x"));
      const remote = await first(server.incomingBidirectionalStreams);
      remote.attach(onStreamEvents({ onReset: arriving.resolve }));
      const stopped = deferred<number>();
      stream.attach(onStreamEvents({ onStopSending: stopped.resolve }));
      remote.stopSending(code);
      expect(await stopped.promise).toBe(code);
      remote.reset(code);
      const other = client.openStream();
      other.write(bytes("y"));
      const second = await first(server.incomingBidirectionalStreams);
      second.attach(onStreamEvents({ onReset: arriving.resolve }));
      other.reset(code);
      expect(await arriving.promise).toBe(code);
    }
  });

  test("W3C errors carry source and streamErrorCode", async () => {
    const [client, server] = await pair();
    const stream = await client.createBidirectionalStream();
    const writer = stream.writable.getWriter();
    await writer.write(bytes("x"));
    const remote = await first(server.incomingBidirectionalStreams);
    const reader = remote.readable.getReader();
    await reader.read();
    await writer.abort(new WebTransportError("enough", { streamErrorCode: 77 }));
    const error = await reader.read().then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(WebTransportError);
    expect(error).toMatchObject({ name: "WebTransportError", source: "stream", streamErrorCode: 77 });
  });

  test("draining is told and the session goes on", async () => {
    const [client, server] = await pair();
    echo(server);
    server.drain();
    await client.draining;
    const stream = client.openStream();
    const reply = readAll(stream);
    stream.write(bytes("still here"), true);
    expect((await reply).toString()).toBe("still here");
  });

  test("a server's SETTINGS come with its first flight", async () => {
    const server = serve(echo);
    // Lets nothing of the client through once the server has answered with more than an acknowledgement (of half a ClientHello), so the
    // server's handshake never completes.
    const relay = createSocket("udp4");
    await once(relay.bind(0, "127.0.0.1"), "listening");
    let [client, answered] = [0, false];
    relay.on("message", (datagram, { port }) => {
      if (isPortProbe(datagram)) return;
      answered ||= port === server.address.port && datagram.length > 1000;
      if (port === server.address.port) relay.send(datagram, client, "127.0.0.1");
      else if (!answered) {
        client = port;
        relay.send(datagram, server.address.port, "127.0.0.1");
      }
    });
    world.certificate = pinned;
    const session = await world.dial(server, { alpn: ["h3"], port: relay.address().port });
    const control = deferred<Uint8Array>();
    session.attach(
      onSessionEvents({
        onUniStream: (stream) => stream.attach(onStreamEvents({ onData: (chunk) => control.resolve(chunk) })),
      }),
    );
    // The control stream's type, and SETTINGS.
    expect([...(await control.promise).subarray(0, 2)]).toEqual([0, 4]);
    expect(server.stats()).toMatchObject({ handshakes: 1, sessions: 0 });
    await world.close();
    relay.close();
  });

  test("sessions share a connection when asked to, close one by one, and the last closes it", async () => {
    const authority = await certificate({ ca: true });
    pinned = await certificate({ issuer: authority });
    const paths: string[] = [];
    const server = serve((session) => {
      paths.push(session.path);
      echo(session);
    });
    const client = world.bind();
    const options = { tls: { ca: authority.cert }, serverName: "localhost", allowPooling: true };
    const sessions = await Promise.all(
      ["/a", "/b", "/c"].map((path) => client.connectWebTransport(urlOf(server, path), options)),
    );
    expect(server.stats().sessions).toBe(1);
    expect(paths.toSorted()).toEqual(["/a", "/b", "/c"]);
    for (const session of sessions) {
      const stream = session.openStream();
      const reply = readAll(stream);
      stream.write(bytes(session.path), true);
      expect((await reply).toString()).toBe(session.path);
      session.close();
      await session.closed;
    }
    // The client's connection ends when the server has confirmed, and whoever comes meanwhile gets one that lives.
    for (let turn = 0; client.stats().sessions > 0; turn++) {
      const session = await client.connectWebTransport(urlOf(server, `/${turn}`), options);
      expect(session.path).toBe(`/${turn}`);
      session.close();
      for (let n = 0; n < turn; n++) await new Promise(setImmediate);
    }
    expect((await client.connectWebTransport(urlOf(server, "/d"), options)).path).toBe("/d");
    await expect(client.connectWebTransport(urlOf(server), { ...trustOptions(), allowPooling: true })).rejects.toThrow(
      "cannot be combined",
    );
  });

  test("sessions that share a dial end their wait each by its own signal and time", async () => {
    const silent = createSocket("udp4");
    silent.bind(0, "127.0.0.1");
    await once(silent, "listening");
    const client = world.bind();
    const url = `https://127.0.0.1:${silent.address().port}/`;
    const controller = new AbortController();
    const [{ signal }, reason] = [controller, new Error("no longer")];
    const first = client.connectWebTransport(url, { allowPooling: true, signal });
    const second = client.connectWebTransport(url, { allowPooling: true, handshakeTimeoutMs: 1 });
    await expect(second).rejects.toMatchObject({ code: "ERR_QUIC_HANDSHAKE_TIMEOUT" });
    controller.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(client.connectWebTransport(url, { allowPooling: true, signal })).rejects.toBe(reason);
    // Nobody waits for a connection any more.
    await new Promise(setImmediate);
    expect(client.stats()).toMatchObject({ sessions: 0, handshakes: 0 });
    silent.close();
  });

  test("an endpoint that drains tells its sessions, and takes no more, on their connections or new ones", async () => {
    const authority = await certificate({ ca: true });
    pinned = await certificate({ issuer: authority });
    const server = serve(echo);
    const client = world.bind();
    const options = { tls: { ca: authority.cert }, serverName: "localhost", allowPooling: true };
    const session = await client.connectWebTransport(urlOf(server), options);
    server.drain();
    await session.draining;
    expect(server.stats().sessions).toBe(1);
    // The next one begins a connection of its own.
    await expect(client.connectWebTransport(urlOf(server), options)).rejects.toMatchObject({
      code: "ERR_QUIC_REFUSED",
    });
    await expect(dial(server)).rejects.toMatchObject({ code: "ERR_QUIC_REFUSED" });
    expect(server.stats()).toMatchObject({ sessions: 1, handshakes: 0, refused: 2 });
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(bytes("goes on"), true);
    expect((await reply).toString()).toBe("goes on");
  });

  test("one port serves raw QUIC and WebTransport", async () => {
    const sessions: string[] = [];
    const server = world.bind();
    server.listen({ alpn: ["echo/1"], tls: pinned, webTransport: {} }, (session) => {
      sessions.push(`${session.alpnProtocol} ${session instanceof WebTransportSession}`);
      echo(session);
    });
    world.certificate = pinned;
    const raw = await world.dial(server, { alpn: ["echo/1"] });
    const web = await dial(server);
    for (const session of [raw, web]) {
      const stream = session.openStream();
      const reply = readAll(stream);
      stream.write(bytes("both"), true);
      expect((await reply).toString()).toBe("both");
    }
    expect(sessions).toEqual(["echo/1 false", "h3 true"]);
    await expect(world.dial(server, { alpn: ["other"] })).rejects.toMatchObject({ code: "ERR_QUIC_ALPN_MISMATCH" });
  });
});
