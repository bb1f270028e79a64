import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { dial } from "../dist/dial.js";
import { engineOptions } from "../dist/bind-options.js";
import { Engine } from "../dist/engine.js";
import { transportNumbers } from "../dist/limits.js";
import { encodeServerTls } from "../dist/tls-options.js";
import type { CloseInfo, QuicSession, QuicStream } from "../dist/index.js";
import { certificate } from "./certificates.js";
import {
  ALPN,
  bytes,
  connect,
  deferred,
  delayedPath,
  DRIVERS,
  echo,
  Endpoint,
  isPortProbe,
  onSessionEvents,
  onStreamEvents,
  readAll,
  selectivePath,
  World,
} from "./harness.js";

const hashOf = (value: Uint8Array) => ({ serverCertificateHashes: [{ algorithm: "sha-256" as const, value }] });

/** The header form is the first byte's highest bit (RFC 9000 §17). */
function isLong(packet: Uint8Array): boolean {
  return ((packet[0] ?? 0) & 0x80) !== 0;
}

/** The connection id that the sender of a packet with a long header has chosen (RFC 9000 §17.2). */
function sourceId(packet: Buffer): string {
  const at = 6 + packet.readUInt8(5);
  return packet.subarray(at + 1, at + 1 + packet.readUInt8(at)).toString("hex");
}

/** How a session ends, as its handler is told. */
function ending(session: QuicSession): Promise<{ info: CloseInfo; error: Error | undefined }> {
  const { promise, resolve } = deferred<{ info: CloseInfo; error: Error | undefined }>();
  session.attach(onSessionEvents({ onClosed: (info, error) => resolve({ info, error }) }));
  return promise;
}

describe.each(DRIVERS)("sessions, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  describe("closing", () => {
    test("its error has no trace, which would show the engine's lines alone", async () => {
      const [client, server] = await world.pair();
      const there = ending(server);
      client.close({ closeCode: 5, reason: "enough" });
      const { error } = await there;
      expect(error?.stack).toBe(`QuicError: ${error?.message}`);
    });

    test("code and reason reach the peer; both sides see an error", async () => {
      const [client, server] = await world.pair();
      const [here, there] = [ending(client), ending(server)];
      client.close({ closeCode: 0xffff_ffff, reason: "enough" });
      expect(await there).toMatchObject({
        info: { closeCode: 0xffff_ffff, reason: "enough" },
        error: { code: "ERR_QUIC_CLOSED_BY_PEER", closeCode: 0xffff_ffff, reason: "enough", source: "session" },
      });
      expect(await here).toMatchObject({ info: { closeCode: 0xffff_ffff }, error: { code: "ERR_QUIC_CLOSED" } });
    });

    test.each(["steady", "cubic", "newreno", "bbr"] as const)(
      "they reach the peer though the window is full of data (%s)",
      async (congestionControl) => {
        const accepted = deferred<QuicSession>();
        const listening = await world.serve(accepted.resolve, { transport: { congestionControl } });
        const path = await delayedPath(listening.address.port, 10);
        const client = await world.dial(listening, { port: path.port, transport: { idleTimeoutMs: 3000 } });
        const there = ending(client);
        const server = await accepted.promise;
        server.openStream().write(new Uint8Array(1 << 20));
        while (server.stats().sentBytes < 10_000) await new Promise(setImmediate);
        server.close({ closeCode: 7 });
        expect(await there).toMatchObject({ info: { closeCode: 7 } });
        path.close();
      },
    );

    test("code 0 is clean", async () => {
      const [client, server] = await world.pair();
      const [here, there] = [ending(client), ending(server)];
      server.close();
      expect(await here).toEqual({ info: { closeCode: 0, reason: "" }, error: undefined });
      expect((await there).error).toBeUndefined();
      expect(() => client.openStream()).toThrow("closed");
    });

    test("every live stream is told once, before the session", async () => {
      const [client, server] = await world.pair();
      const log: string[] = [];
      const over = deferred();
      client.attach(
        onSessionEvents({
          onClosed: () => {
            log.push("session");
            over.resolve();
          },
        }),
      );
      for (let i = 0; i < 3; i++) {
        const stream = client.openStream();
        stream.attach(onStreamEvents({ onClosed: (error) => log.push(`stream ${(error as { code?: string }).code}`) }));
        stream.write(bytes("x"));
      }
      server.close({ closeCode: 3 });
      await over.promise;
      const told = "stream ERR_QUIC_CLOSED_BY_PEER";
      expect(log).toEqual([told, told, told, "session"]);
    });

    test("closing the endpoint closes its sessions with the code", async () => {
      const accepted = deferred();
      const server = await world.serve(() => accepted.resolve(), { port: await freePort() });
      const session = await world.dial(server);
      await accepted.promise;
      const end = ending(session);
      await server.close({ closeCode: 17, reason: "restart" });
      expect((await end).info).toEqual({ closeCode: 17, reason: "restart" });
      await server.close();
      // The port is free at once.
      await Endpoint.bind({ host: "127.0.0.1", port: server.address.port }).close();
    });

    test("what arrived before the close is delivered", async () => {
      const [client, server] = await world.pair();
      const stream = deferred<QuicStream>();
      const over = deferred();
      server.attach(onSessionEvents({ onStream: stream.resolve, onClosed: () => over.resolve() }));
      const local = client.openStream();
      local.write(bytes("last "));
      const remote = await stream.promise;
      let received = "";
      const first = deferred();
      const log: string[] = [];
      remote.attach(
        onStreamEvents({
          onData: (chunk) => {
            received += String(Buffer.from(chunk));
            first.resolve();
          },
          onEnd: () => log.push("end"),
          onClosed: () => log.push("closed"),
        }),
      );
      await first.promise;
      local.write(bytes("words"), true);
      // Sent, and acknowledged by nobody yet, when the session closes.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      client.close();
      await over.promise;
      expect(received).toBe("last words");
      expect(log.at(-1)).toBe("closed");
    });

    test("an idle session times out", async () => {
      const [client, server] = await world.pair({ client: { idleTimeoutMs: 1000 } });
      const ends = await Promise.all([ending(client), ending(server)]);
      for (const { error } of ends) expect(error).toMatchObject({ code: "ERR_QUIC_IDLE_TIMEOUT" });
    });

    test("keep-alive prevents that", async () => {
      const [client, server] = await world.pair({ client: { idleTimeoutMs: 1000, keepAliveIntervalMs: 250 } });
      const { receivedUdpDatagrams: before } = server.stats();
      // As many as twice the idle timeout has, without traffic of ours.
      const quiet = vi.waitUntil(() => server.stats().receivedUdpDatagrams >= before + 8, { timeout: 10_000 });
      expect(await Promise.race([ending(client), quiet])).toBe(true);
    });
  });

  describe("trust", () => {
    test("the right hash, also among others", async () => {
      const server = await world.serve(echo);
      const other = { algorithm: "sha-256" as const, value: new Uint8Array(32) };
      const { serverCertificateHashes: right } = hashOf(world.certificate.hash);
      const session = await world.dial(server, { tls: { serverCertificateHashes: [other, ...right] } });
      expect(session.alpnProtocol).toBe(ALPN[0]);
      expect(session.remoteAddress).toEqual({ host: "127.0.0.1", port: server.address.port, family: "IPv4" });
    });

    test("a wrong hash", async () => {
      const server = await world.serve(() => expect.unreachable());
      await expect(world.dial(server, { tls: hashOf(new Uint8Array(32)) })).rejects.toMatchObject({
        name: "QuicError",
        source: "tls",
        code: "ERR_QUIC_CERTIFICATE_HASH_MISMATCH",
      });
    });

    test("a hash does not excuse 15 days of validity, an expired certificate, or another curve", async () => {
      const code = async (request: Parameters<typeof certificate>[0]): Promise<string> => {
        const server = await world.serve(() => expect.unreachable(), { tls: await certificate(request) });
        return world.dial(server).then(
          () => "connected",
          (error: { code: string }) => error.code,
        );
      };
      expect(await code({ days: 15 })).toBe("ERR_QUIC_CERTIFICATE_UNSUITABLE");
      expect(await code({ from: Date.now() - 20 * 864e5, days: 10 })).toBe("ERR_QUIC_CERTIFICATE_EXPIRED");
      expect(await code({ keyAlgorithm: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" } })).toBe(
        "ERR_QUIC_CERTIFICATE_UNSUITABLE",
      );
    });

    test("an authority: right, wrong, wrong name, expired", async () => {
      const [authority, stranger] = await Promise.all([certificate({ ca: true }), certificate({ ca: true })]);
      const leaf = await certificate({ issuer: authority });
      const server = await world.serve(echo, { tls: leaf });
      const tls = { ca: authority.cert };
      const session = await world.dial(server, { tls, serverName: "localhost" });
      session.close();
      const code = (options: object): Promise<string> =>
        world.dial(server, options).then(
          () => "connected",
          (error: { code: string }) => error.code,
        );
      expect(await code({ tls: { ca: stranger.cert }, serverName: "localhost" })).toBe(
        "ERR_QUIC_CERTIFICATE_UNTRUSTED",
      );
      expect(await code({ tls, serverName: "example.com" })).toBe("ERR_QUIC_CERTIFICATE_NAME");
      expect(await code({ tls })).toBe("ERR_QUIC_CERTIFICATE_NAME");
      const old = await certificate({ issuer: authority, from: Date.now() - 20 * 864e5, days: 10 });
      const expired = await world.serve(echo, { tls: old });
      await expect(world.dial(expired, { tls, serverName: "localhost" })).rejects.toMatchObject({
        code: "ERR_QUIC_CERTIFICATE_EXPIRED",
      });
    });

    test("no ALPN protocol in common", async () => {
      const server = await world.serve(() => expect.unreachable());
      await expect(world.dial(server, { alpn: ["other"] })).rejects.toMatchObject({
        source: "tls",
        code: "ERR_QUIC_ALPN_MISMATCH",
      });
    });

    test("PEM that is none", async () => {
      const endpoint = world.bind();
      const { cert, key } = await certificate();
      for (const tls of [
        { cert: "nonsense", key },
        { cert, key: "nonsense" },
        { cert, key: (await certificate()).key },
      ]) {
        expect(() => endpoint.listen({ alpn: ALPN, tls }, () => {})).toThrow(
          expect.objectContaining({ code: "ERR_QUIC_INVALID_OPTION", source: "usage" }),
        );
      }
      endpoint.listen({ alpn: ALPN, tls: { cert, key } }, () => {});
    });
  });

  describe("dialling", () => {
    test("a name with several addresses", async () => {
      const server = await world.serve(echo);
      const client = world.bind("::");
      const session = await world.dial(server, { host: "localhost" }, client);
      expect(session.remoteAddress.host).toBe("127.0.0.1");
    });

    test("a dual-stack endpoint serves both families", async () => {
      const tls = await certificate();
      const server = Endpoint.bind({ driver });
      server.listen({ alpn: ALPN, tls }, echo);
      const common = { port: server.address.port, alpn: ALPN, tls: hashOf(tls.hash) };
      for (const host of server.address.family === "IPv6" ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"]) {
        const session = await connect({ ...common, host });
        const stream = session.openStream();
        const reply = readAll(stream);
        stream.write(bytes(host), true);
        expect(String(await reply)).toBe(host);
      }
      await server.close();
    });

    test("a port where nobody listens is known at once", async () => {
      const port = await freePort();
      const since = performance.now();
      await expect(world.bind().connect({ host: "127.0.0.1", port, alpn: ALPN })).rejects.toMatchObject({
        code: "ECONNREFUSED",
        source: "system",
        message: expect.stringContaining(`no process listens on UDP 127.0.0.1:${port}`),
      });
      expect(performance.now() - since).toBeLessThan(2000);
    });

    test("a port where nobody answers", async () => {
      const silent = createSocket("udp4").bind(0, "127.0.0.1");
      await once(silent, "listening");
      onTestFinished(() => void silent.close());
      const { port } = silent.address();
      await expect(
        world.bind().connect({ host: "127.0.0.1", port, alpn: ALPN, handshakeTimeoutMs: 150 }),
      ).rejects.toMatchObject({
        code: "ERR_QUIC_HANDSHAKE_TIMEOUT",
        message: expect.stringContaining(`no answer from 127.0.0.1:${port} over UDP`),
      });
    });

    test("an attempt that nothing comes from is joined by a second one, and the first to succeed wins", async () => {
      const server = await world.serve(echo);
      let lost: string | undefined;
      const path = await selectivePath(server.address.port, (packet) => {
        if (!isLong(packet)) return true;
        lost ??= sourceId(packet);
        return sourceId(packet) !== lost;
      });
      onTestFinished(() => path.close());
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const client = world.bind();
      const tls = hashOf(world.certificate.hash);
      const dialled = client.connect({ host: "127.0.0.1", port: path.port, alpn: ALPN, tls });
      await path.arrived;
      expect(client.stats().sessions).toBe(1);
      vi.advanceTimersByTime(2000);
      expect(client.stats().sessions).toBe(2);
      vi.useRealTimers();
      await dialled;
      await vi.waitFor(() => expect(client.stats().sessions).toBe(1));
    });

    test("an abort signal, before and during", async () => {
      const client = world.bind();
      const options = { host: "127.0.0.1", port: 9, alpn: ALPN };
      await expect(client.connect({ ...options, signal: AbortSignal.abort() })).rejects.toMatchObject({
        name: "AbortError",
      });
      const controller = new AbortController();
      const dialling = client.connect({ ...options, signal: controller.signal });
      setImmediate(() => controller.abort(new Error("changed my mind")));
      await expect(dialling).rejects.toThrow("changed my mind");
      // Its end is reported to nobody, and it is no longer counted.
      await vi.waitFor(() => expect(client.stats().sessions).toBe(0), { interval: 1 });
    });

    test("a port in use", () => {
      const { port } = world.bind().address;
      expect(() => Endpoint.bind({ host: "127.0.0.1", port, driver })).toThrow(
        expect.objectContaining({ code: "EADDRINUSE", source: "system" }),
      );
    });

    test("two endpoints dial each other from the ports they listen on", async () => {
      const tls = await certificate();
      const [a, b] = [world.bind(), world.bind()];
      for (const endpoint of [a, b]) endpoint.listen({ alpn: ALPN, tls }, echo);
      for (const [from, to] of [
        [a, b],
        [b, a],
      ] as const) {
        const session = await from.connect({
          host: "127.0.0.1",
          port: to.address.port,
          alpn: ALPN,
          tls: hashOf(tls.hash),
        });
        const stream = session.openStream();
        const reply = readAll(stream);
        stream.write(bytes("peer"), true);
        expect(String(await reply)).toBe("peer");
        expect(session.localAddress.port).toBe(from.address.port);
      }
    });

    test.each<[options: object, named: string]>([
      [{ port: 0 }, "port"],
      [{ alpn: [] }, "alpn"],
      [{ handshakeTimeoutMs: Number.NaN }, "handshakeTimeoutMs"],
      [{ transport: { idleTimeoutMs: -1 } }, "idleTimeoutMs"],
      // Rust makes no duration of these.
      ...(["idleTimeoutMs", "keepAliveIntervalMs", "initialRttMs", "maxAckDelayMs"] as const).flatMap((name) =>
        [Number.NaN, Number.POSITIVE_INFINITY, 1e300].map(
          (ms) => [{ transport: { [name]: ms } }, name] as [object, string],
        ),
      ),
      [{ tls: { serverCertificateHashes: [] } }, "serverCertificateHashes"],
      [{ tls: { ca: "nonsense" } }, "ca"],
    ])("refuses %j", async (options, named) => {
      await expect(world.bind().connect({ host: "127.0.0.1", port: 9, alpn: ALPN, ...options })).rejects.toMatchObject({
        code: "ERR_QUIC_INVALID_OPTION",
        message: expect.stringContaining(named),
      });
    });
  });

  test("garbage on the port harms nothing", async () => {
    const server = await world.serve(echo);
    const session = await world.dial(server);
    const noise = createSocket("udp4");
    const send = (data: Uint8Array) =>
      new Promise((resolve) => noise.send(data, server.address.port, "127.0.0.1", resolve));
    let seed = 1;
    for (let i = 0; i < 500; i++) {
      const data = new Uint8Array(1 + ((i * 37) % 1400)).map(() => (seed = (seed * 48_271) % 0x7fff_ffff) & 255);
      // Every kind of first byte, and QUIC version 1 in half of the long headers.
      data[0] = i & 255;
      if (i % 2 === 0) data.set([0, 0, 0, 1].slice(0, data.length - 1), 1);
      await send(data);
    }
    noise.close();
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(bytes("still here"), true);
    expect(String(await reply)).toBe("still here");
  });

  test("a path that drops every ninth datagram costs time, not bytes", async () => {
    const server = await world.serve(echo);
    const [front, back] = [createSocket("udp4"), createSocket("udp4")];
    await Promise.all([front, back].map((socket) => once(socket.bind(0, "127.0.0.1"), "listening")));
    let client = 0;
    let count = 0;
    const passes = (): boolean => ++count % 9 !== 0;
    front.on("message", (data, from) => {
      if (isPortProbe(data)) return;
      client = from.port;
      if (passes()) back.send(data, server.address.port, "127.0.0.1");
    });
    back.on("message", (data) => {
      if (passes()) front.send(data, client, "127.0.0.1");
    });
    const session = await world.dial(server, { port: front.address().port });
    const data = Buffer.alloc(300_000, "lossy");
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(data, true);
    expect((await reply).equals(data)).toBe(true);
    expect(session.stats().lostPackets).toBeGreaterThan(0);
    for (let i = 0; i < 20; i++) {
      const call = session.openStream();
      const answer = readAll(call);
      call.write(bytes("small"), true);
      expect(String(await answer)).toBe("small");
    }
    front.close();
    back.close();
  });

  test("sessions that come and go leave nothing behind", async () => {
    const engines = [
      new Engine(engineOptions({ host: "127.0.0.1", driver })),
      new Engine(engineOptions({ host: "127.0.0.1", driver })),
    ] as const;
    const [server, client] = engines;
    const { cert, key, hash } = await certificate();
    server.native.listen(
      encodeServerTls([...ALPN, "h3"], { tls: { cert, key } }),
      transportNumbers({}, { webTransportSessions: 16 }),
    );
    server.onSession = echo;
    const counts = [0, 0];
    engines.forEach((engine, index) => {
      engine.onSessionCount = (count) => {
        counts[index] = count;
      };
    });
    const options = { host: "127.0.0.1", port: server.address.port, alpn: ALPN, tls: hashOf(hash) };
    // Its handshake fails when the server's control stream is already open.
    const distrustful = { ...options, alpn: ["h3"], tls: hashOf(new Uint8Array(32)) };
    for (let round = 0; round < 20; round++) {
      await expect(dial(client, distrustful, 1)).rejects.toMatchObject({ source: "tls" });
      await Promise.all(
        Array.from({ length: 15 }, async (_, index) => {
          const session = await dial(client, options);
          const stream = session.openStream();
          const reply = readAll(stream).catch(() => {});
          stream.write(bytes("x"), index % 3 !== 0);
          if (index % 3 === 0) stream.reset(1);
          if (index % 3 === 1) await reply;
          session.close();
          await reply;
        }),
      );
    }
    await vi.waitFor(
      () =>
        expect(engines.map((engine) => engine.native.counts())).toEqual([
          [0, 0, 0],
          [0, 0, 0],
        ]),
      {
        timeout: 10_000,
      },
    );
    expect(counts).toEqual([0, 0]);
    expect(engines.map((engine) => engine.streams.filter(Boolean).length)).toEqual([0, 0]);
    const closed = engines.map((engine) => {
      const { promise, resolve } = deferred();
      engine.onClosed = resolve;
      engine.kick();
      engine.native.close(0, new Uint8Array(0));
      return promise;
    });
    await Promise.all(closed);
  });

  test("a session may be closed, and its endpoint, within onData", async () => {
    const server = await world.serve(echo);
    const client = world.bind();
    const [one, two] = [await world.dial(server, {}, client), await world.dial(server, {}, client)];
    const ends = [ending(one), ending(two)];
    const stream = one.openStream();
    const later: unknown[] = [];
    let closed: Promise<void> | undefined;
    stream.attach(
      onStreamEvents({
        onData: () => {
          one.close({ closeCode: 5 });
          closed ??= client.close();
          expect(stream.write(bytes("void"))).toBe(true);
          stream.reset(1);
          stream.stopSending(1);
          expect(() => client.listen({ alpn: ALPN, tls: world.certificate }, () => {})).toThrow("closed");
        },
        onClosed: (error) => later.push(error),
      }),
    );
    stream.write(bytes("x"));
    expect((await ends[0])?.info).toEqual({ closeCode: 5, reason: "" });
    expect((await ends[1])?.info).toEqual({ closeCode: 0, reason: "" });
    await closed;
    // JavaScript ended the stream's both sides itself before the session's end was told.
    expect(later.length).toBeLessThanOrEqual(1);
    expect(client.stats().sessions).toBe(0);
  });

  test("dialling while the endpoint closes fails at once", async () => {
    const client = world.bind();
    const dialling = client.connect({ host: "127.0.0.1", port: 9, alpn: ALPN });
    const resolving = client.connect({ host: "localhost", port: 9, alpn: ALPN });
    const closed = client.close();
    for (const attempt of [dialling, resolving])
      await expect(attempt).rejects.toMatchObject({ code: "ERR_QUIC_CLOSED" });
    await closed;
  });
});
