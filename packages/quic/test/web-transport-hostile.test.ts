import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  Endpoint,
  ListenTransportOptions,
  QuicSession,
  WebTransportListenOptions,
  WebTransportSession,
} from "../dist/index.js";
import { certificate } from "./certificates.js";
import { CONNECT, CONTROL, frame, headers, SETTINGS, varint } from "./http3-bytes.js";
import { bytes, deferred, DRIVERS, echo, onStreamEvents, random, readAll, World } from "./harness.js";

describe.each(DRIVERS)("a hostile HTTP/3 client, %s driver", (driver) => {
  let world: World;
  let server: Endpoint;
  let bystander: WebTransportSession;

  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  /** A server, and a client of it that must not notice anything. */
  async function start(
    webTransport: WebTransportListenOptions = {},
    transport: ListenTransportOptions = {},
  ): Promise<void> {
    world.certificate = await certificate();
    server = world.bind();
    const limits = { maxSessionsPerAddress: 1000, ...transport };
    server.listen({ tls: world.certificate, webTransport, transport: limits }, echo);
    const hashes = [{ algorithm: "sha-256" as const, value: world.certificate.hash }];
    bystander = await world
      .bind()
      .connectWebTransport(`https://127.0.0.1:${server.address.port}/`, { tls: { serverCertificateHashes: hashes } });
  }

  /** A connection that writes its HTTP/3 by hand. */
  function attack(): Promise<QuicSession> {
    return world.dial(server, { alpn: ["h3"] });
  }

  function uni(session: QuicSession, data: readonly number[], end = false): void {
    session.openUniStream().write(Uint8Array.from(data), end);
  }

  async function isWell(): Promise<void> {
    const stream = bystander.openStream();
    const reply = readAll(stream);
    stream.write(bytes("still well"), true);
    expect((await reply).toString()).toBe("still well");
  }

  /** Returns the server's answer to `data` on a new stream, until its FIN. */
  async function answer(session: QuicSession, data: readonly number[]): Promise<Buffer> {
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(Uint8Array.from(data), true);
    return reply;
  }

  test.each([
    ["settings twice", [...CONTROL, ...SETTINGS], 0x105],
    ["no settings first", [0, ...frame(7, [0])], 0x10a],
    ["a setting of HTTP/2", [0, ...frame(4, [2, 0])], 0x109],
    ["DATA on the control stream", [...CONTROL, ...frame(0, [1])], 0x105],
    ["an oversized frame", [...CONTROL, 7, 0x80, 0x10, 0, 0], 0x107],
    ["a frame of HTTP/2", [...CONTROL, 6, 0], 0x105],
    ["a push", [1], 0x103],
    ["a session id of the server's", [...varint(0x54), 1], 0x108],
  ])("%s", async (_, data, code) => {
    await start();
    const session = await attack();
    uni(session, data);
    expect((await session.closed).closeCode).toBe(code);
    await isWell();
  });

  test("a control stream that ends, and a second one", async () => {
    await start();
    const [ends, second] = [await attack(), await attack()];
    uni(ends, CONTROL, true);
    expect((await ends.closed).closeCode).toBe(0x104);
    uni(second, CONTROL);
    uni(second, CONTROL);
    expect((await second.closed).closeCode).toBe(0x103);
    await isWell();
  });

  test("oversized and undecodable header sections", async () => {
    await start();
    const [large, broken] = [await attack(), await attack()];
    for (const session of [large, broken]) uni(session, CONTROL);
    large.openStream().write(Uint8Array.from([1, 0x80, 0, 0x40, 1]));
    expect((await large.closed).closeCode).toBe(0x107);
    broken.openStream().write(Uint8Array.from(frame(1, [0, 0, 0x80])));
    expect((await broken.closed).closeCode).toBe(0x200);
    await isWell();
  });

  test("malformed requests are reset, others answered, on one connection", async () => {
    await start();
    const session = await attack();
    uni(session, CONTROL);
    const { ":path": _, ...pathless } = CONNECT;
    await expect(answer(session, headers(pathless))).rejects.toThrow("reset 270");
    await expect(answer(session, headers({ ...CONNECT, "x-a": "1", ":late": "x" }))).rejects.toThrow("reset 270");
    const get = { ":method": "GET", ":scheme": "https", ":path": "/", ":authority": "a" };
    expect((await answer(session, headers(get))).toString()).toContain("WebTransport");
    expect((await answer(session, headers({ ...CONNECT, ":protocol": "websocket" }))).toString()).toContain("501");
    await isWell();
  });

  test("a flood of requests: those beyond the limit get 429", async () => {
    await start({ maxSessionsPerConnection: 3 });
    const session = await attack();
    uni(session, CONTROL);
    const statuses = await Promise.all(
      Array.from({ length: 500 }, async () => {
        const stream = session.openStream();
        const status = deferred<string>();
        stream.attach(
          onStreamEvents({
            onData: (chunk) => status.resolve(/[245]\d\d/.exec(Buffer.from(chunk).toString("latin1"))?.[0] ?? "?"),
            onReset: (code) => status.resolve(`reset ${code}`),
          }),
        );
        stream.write(Uint8Array.from(headers(CONNECT)));
        return status.promise;
      }),
    );
    expect(statuses.filter((status) => status === "200")).toHaveLength(3);
    expect(statuses.filter((status) => status === "429")).toHaveLength(497);
    await isWell();
  });

  test("streams and datagrams of sessions that never come are bounded, and end", async () => {
    await start({}, { handshakeTimeoutMs: 1000 });
    const session = await attack();
    uni(session, CONTROL);
    for (let n = 0; n < 1_000; n++) {
      const stream = session.openUniStream();
      stream.write(Uint8Array.from([...varint(0x54), ...varint(400), 1, 2, 3]));
      session.datagrams.send(Uint8Array.from([...varint(100), 1, 2, 3]));
    }
    await isWell();
    expect(session.stats().waitingStreams).toBeGreaterThan(900);
    expect((await session.closed).closeCode).toBe(0x100);
    await isWell();
  });

  test("a datagram that names no stream ends the connection", async () => {
    await start();
    const session = await attack();
    session.datagrams.send(Uint8Array.from([0x40]));
    expect((await session.closed).closeCode).toBe(0x33);
    await isWell();
  });

  test("a client that leaves at any step", async () => {
    const asked = deferred<AbortSignal>();
    let pending = false;
    await start({
      onRequest: (request) => {
        if (!pending) return {};
        asked.resolve(request.signal);
        return new Promise(() => {});
      },
    });
    const request = headers(CONNECT);
    const steps: ((session: QuicSession) => void)[] = [
      () => {},
      (session) => uni(session, [0]),
      (session) => session.openStream().write(Uint8Array.from(request.slice(0, 9))),
      (session) => session.openStream().write(Uint8Array.from(request)),
      (session) => session.openStream().write(Uint8Array.from(request), true),
      (session) => {
        session.openStream().write(Uint8Array.from(request));
        uni(session, [...varint(0x54), 0, 1, 2, 3]);
        session.openStream().write(Uint8Array.from([...varint(0x41), 0, 1, 2, 3]));
      },
      // CLOSE_WEBTRANSPORT_SESSION cut short within its capsule.
      (session) => session.openStream().write(Uint8Array.from([...request, 0, 4, 0x68, 0x43, 8, 0]), true),
      (session) => session.openStream().reset(0),
    ];
    for (const step of steps) {
      const session = await attack();
      if (step !== steps[1]) uni(session, CONTROL);
      step(session);
      // What was sent arrives before the close does.
      await session.createUnidirectionalStream();
      session.close();
    }
    pending = true;
    const session = await attack();
    uni(session, CONTROL);
    const stream = session.openStream();
    stream.write(Uint8Array.from(request));
    const signal = await asked.promise;
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    stream.reset(0);
    await aborted;
    session.close();
    await isWell();
  });

  test("garbage on every kind of stream", async () => {
    await start();
    const next = random(7);
    const garbage = (length: number): number[] => Array.from({ length }, () => Math.floor(next() * 256));
    for (let round = 0; round < 60; round++) {
      const session = await attack();
      const ended = session.closed.catch(() => {});
      if (next() < 0.5) uni(session, CONTROL);
      for (let n = 0; n < 5; n++) {
        const start = next() < 0.5 ? headers(CONNECT) : [];
        const stream = session.openStream();
        stream.write(Uint8Array.from([...start, ...garbage(40)]), next() < 0.3);
        uni(session, garbage(20), next() < 0.3);
        session.datagrams.send(Uint8Array.from(garbage(10)));
      }
      await isWell();
      session.close();
      await ended;
    }
  });

  test("a slow reader of a session's stream stalls its writer only", async () => {
    await start();
    const stalled = bystander.openStream();
    const more = deferred();
    stalled.attach(onStreamEvents({ onDrain: () => more.resolve() }));
    stalled.pause();
    let room = true;
    // The echo cannot be delivered, so both directions fill.
    for (let n = 0; n < 2_000 && room; n++) room = stalled.write(new Uint8Array(64 * 1024));
    expect(room).toBe(false);
    await isWell();
    stalled.resume();
    await more.promise;
  });
});
