import { createSocket } from "node:dgram";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { QuicSession } from "../dist/index.js";
import { endpointStats } from "../dist/stats.js";
import { ALPN, bytes, deferred, delayedPath, DRIVERS, echo, endings, isPortProbe, readAll, World } from "./harness.js";

describe.each(DRIVERS)("limits and stats, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("over the session limit the peer is refused, and counted", async () => {
    const server = await world.serve(echo, { transport: { maxSessions: 1 } });
    await world.dial(server);
    await expect(world.dial(server)).rejects.toMatchObject({ code: "ERR_QUIC_REFUSED" });
    expect(server.stats()).toMatchObject({ sessions: 1, refused: 1, retried: 0 });
  });

  test("over its address's limit a peer is refused; from half of it on it proves its address", async () => {
    const server = await world.serve(echo, { transport: { maxSessionsPerAddress: 2 } });
    await world.dial(server);
    expect(server.stats().retried).toBe(0);
    const second = await world.dial(server);
    expect(server.stats().retried).toBe(1);
    await expect(world.dial(server)).rejects.toMatchObject({ code: "ERR_QUIC_REFUSED" });
    // The share is free again when the server has received the end.
    second.close();
    await vi.waitFor(() => expect(server.stats().sessions).toBe(1));
    await world.dial(server);
  });

  test("with a threshold of 0 every peer proves its address first", async () => {
    const server = await world.serve(echo, { transport: { retryThreshold: 0 } });
    const session = await world.dial(server);
    const stream = session.openStream();
    stream.write(bytes("proven"), true);
    expect(String(await readAll(stream))).toBe("proven");
    expect(server.stats()).toMatchObject({ retried: 1, refused: 0, sessions: 1 });
    expect(session.stats().keyExchangeGroup).toBe("X25519MLKEM768");
  });

  test("handshakes that nobody completes are bounded, and end", async () => {
    const server = await world.serve(echo, {
      transport: { maxHandshakes: 4, maxHandshakesPerAddress: 9, retryThreshold: 4 },
    });
    // The first flight of a client that then falls silent, each time with fresh connection ids.
    const sink = createSocket("udp4");
    const initials: Buffer[] = [];
    const captured = deferred();
    sink.on("message", (datagram) => {
      if (isPortProbe(datagram)) return;
      initials.push(datagram);
      if (initials.length === 6) captured.resolve();
    });
    await new Promise<void>((resolve) => sink.bind(0, "127.0.0.1", resolve));
    const { port } = sink.address();
    const abort = new AbortController();
    const dials = Array.from({ length: 6 }, () => world.dial(server, { port, signal: abort.signal }).catch(() => {}));
    await captured.promise;
    abort.abort();
    await Promise.all(dials);
    for (const initial of initials) sink.send(initial, server.address.port, "127.0.0.1");
    await vi.waitFor(() => expect(server.stats()).toMatchObject({ handshakes: 4, refused: 2 }));
    sink.close();
  });

  test("one address has a share of what is not admitted; what is admitted counts no longer", async () => {
    const sessions: QuicSession[] = [];
    const transport = { maxHandshakesPerAddress: 3 };
    const server = await world.serve((session) => void sessions.push(session), { admission: "manual", transport });
    const stranger = world.bind("127.0.0.2");
    const dial = (): Promise<QuicSession> => world.dial(server, {}, stranger);
    for (let i = 0; i < 3; i++) await dial();
    await expect(dial()).rejects.toMatchObject({ code: "ERR_QUIC_REFUSED" });
    await world.dial(server);
    await vi.waitFor(() => expect(sessions).toHaveLength(4));
    expect(server.stats()).toMatchObject({ sessions: 4, handshakes: 4 });
    for (const session of sessions) expect(session.admit()).toBe(true);
    expect(server.stats()).toMatchObject({ sessions: 4, handshakes: 0 });
    await dial();
  });

  test("an address has less the more others have: a few together do not take everything", async () => {
    const transport = { maxHandshakes: 8, maxHandshakesPerAddress: 4, retryThreshold: 8 };
    const server = await world.serve(() => {}, { admission: "manual", transport });
    /** Dials from one address until it is refused. */
    const taken = async (host: string): Promise<number> => {
      const client = world.bind(host);
      for (let count = 0; ; count++) {
        const refused = await world.dial(server, {}, client).then(
          () => false,
          () => true,
        );
        if (refused) return count;
      }
    };
    const each: number[] = [];
    for (let host = 2; host < 8; host++) each.push(await taken(`127.0.0.${host}`));
    expect(each).toEqual([4, 2, 1, 1, 0, 0]);
  });

  test("a session has what its handshake left of the time to be admitted", async () => {
    const arrived = deferred<QuicSession>();
    const transport = { handshakeTimeoutMs: 20_000 };
    const server = await world.serve((session) => arrived.resolve(session), { admission: "manual", transport });
    const path = await delayedPath(server.address.port, 50);
    onTestFinished(() => path.close());
    const dialled = world.bind().connect({
      host: "127.0.0.1",
      port: path.port,
      alpn: ALPN,
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: world.certificate.hash }] },
    });
    const session = await arrived.promise;
    // A round trip from the server's first packet to the client's last.
    expect(session.remainingMs).toBeLessThanOrEqual(20_000 - 100);
    expect(session.remainingMs).toBeGreaterThan(0);
    session.admit();
    expect(session.remainingMs).toBe(Number.POSITIVE_INFINITY);
    expect((await dialled).remainingMs).toBe(Number.POSITIVE_INFINITY);
  });

  test.each(["quic", "https"])(
    "%s: the stream that was opened first is looked at, although another arrives before it",
    async (scheme) => {
      const [accepted, looked] = [deferred<QuicSession>(), deferred<string>()];
      const webTransport = {};
      const server = await world.serve(accepted.resolve, { admission: "manual", webTransport });
      const tls = { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }] };
      const url = `https://127.0.0.1:${server.address.port}/`;
      const client = await (scheme === "quic" ? world.dial(server) : world.bind().connectWebTransport(url, { tls }));
      const session = await accepted.promise;
      // More than the first packets hold of the second stream, which goes ahead.
      const [one, two] = [client.openStream(), client.openStream()];
      two.setPriority(10);
      one.write(bytes("first"));
      two.write(new Uint8Array(40_000).fill(65));
      session.firstStream((stream) =>
        stream.peek(
          (seen) => {
            looked.resolve(Buffer.from(seen).toString("latin1", 0, 5));
            return false;
          },
          () => looked.reject(new Error("the stream is over")),
        ),
      );
      expect(await looked.promise).toBe("first");
      const names = endings(session, 2);
      expect(session.admit()).toBe(true);
      one.write(new Uint8Array(0), true);
      two.write(new Uint8Array(0), true);
      expect((await names).sort()).toEqual(["A", "f"]);
    },
  );

  test("nothing of a session is read before it is admitted, and all of it afterwards", async () => {
    const admitted = deferred<QuicSession>();
    const server = await world.serve((session) => admitted.resolve(session), { admission: "manual" });
    const session = await world.dial(server);
    const other = await admitted.promise;
    const opened: unknown[] = [];
    echo(other);
    void other.datagrams.readable
      .getReader()
      .read()
      .then((datagram) => opened.push(datagram));
    const replies = Array.from({ length: 40 }, (_, at) => {
      const stream = session.openStream();
      stream.write(new Uint8Array(10_000).fill(at), true);
      return readAll(stream);
    });
    session.datagrams.send(bytes("early"));
    // The peer knows by now of what it may do, and has done it.
    await vi.waitFor(() => expect(session.stats().waitingStreams).toBe(24));
    await vi.waitFor(() => expect(other.stats().receivedBytes).toBeGreaterThan(64 * 1024));
    expect(other.stats()).toMatchObject({ openStreams: 0 });
    expect(other.stats().receivedBytes).toBeLessThan(100 * 1024);
    expect(opened).toEqual([]);
    other.admit();
    expect((await Promise.all(replies)).map((reply) => reply.length)).toEqual(replies.map(() => 10_000));
    await vi.waitFor(() => expect(opened).toHaveLength(1));
  });

  test("what a session has sent and received is counted", async () => {
    const server = await world.serve(echo);
    const session = await world.dial(server);
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(new Uint8Array(100_000), true);
    expect(session.stats()).toMatchObject({ openStreams: 1, waitingStreams: 0 });
    await reply;
    const stats = session.stats();
    expect(stats.sentBytes).toBeGreaterThan(100_000);
    expect(stats.receivedBytes).toBeGreaterThan(100_000);
    expect(stats.sentPackets).toBeGreaterThan(2);
    expect(stats.sentUdpDatagrams).toBeGreaterThan(2);
    expect(stats.rttMs).toBeGreaterThan(0);
    expect(stats.minRttMs).toBeLessThanOrEqual(stats.rttMs);
    expect(stats.congestionWindow).toBeGreaterThan(1200);
    expect(stats.mtu).toBeGreaterThanOrEqual(1200);
    expect(stats.openStreams).toBe(0);
    expect(await session.getStats()).toMatchObject({ bytesSent: stats.sentBytes, smoothedRtt: stats.rttMs });
    session.close();
    expect(session.stats().sentBytes).toBeGreaterThanOrEqual(stats.sentBytes);
  });

  test("socket buffers are asked for and reported", async () => {
    const { receiveBuffer, sendBuffer, askedBuffer, bufferAdvice } = world.bind().stats();
    expect(askedBuffer).toBe(4 * 1024 * 1024);
    expect(receiveBuffer).toBeGreaterThan(0);
    expect(bufferAdvice === undefined).toBe(receiveBuffer >= askedBuffer && sendBuffer >= askedBuffer);
  });
});

test("where the system grants less, the stats say what to do", () => {
  const advice = endpointStats(0, [0, 0, 0, 0, 212_992, 4_194_304, 4_194_304]).bufferAdvice;
  expect(advice).toContain("granted UDP buffers of 212992 bytes to receive");
  if (process.platform === "linux") expect(advice).toMatch(/: sysctl -w net\.core\.rmem_max=4194304$/);
});
