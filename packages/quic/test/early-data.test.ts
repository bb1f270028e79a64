import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import type { QuicSession, QuicStream } from "../dist/index.js";
import { certificate } from "./certificates.js";
import {
  ALPN,
  bytes,
  deferred,
  delayedPath,
  DRIVERS,
  echo,
  Endpoint,
  isPortProbe,
  onSessionEvents,
  onStreamEvents,
  readAll,
  World,
} from "./harness.js";

async function echoed(session: QuicSession, text: string): Promise<string> {
  const stream = session.openStream();
  stream.write(bytes(text), true);
  return String(await readAll(stream));
}

/** Every stream's first bytes, and whether it came early; echoed. */
function logging(log: string[]): (session: QuicSession) => void {
  return (session) =>
    session.attach(
      onSessionEvents({
        onStream(stream) {
          stream.attach(
            onStreamEvents({
              onData: (chunk) => {
                log.push(`${stream.early ? "early" : "safe"} ${String(Buffer.from(chunk))}`);
                stream.write(chunk, true);
              },
            }),
          );
        },
      }),
    );
}

describe.each(DRIVERS)("early data, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  const early = { earlyData: true };

  test("a second session begins at once; the acceptor is told which streams came early", async () => {
    const log: string[] = [];
    const server = await world.serve(logging(log), early);
    const client = world.bind();
    // The second flight leaves before the server can answer the first.
    const path = await delayedPath(server.address.port, 1);
    const first = await world.dial(server, { ...early, port: path.port }, client);
    expect([first.early, first.resumed, first.earlyDataAccepted]).toEqual([false, false, undefined]);
    expect(await echoed(first, "one")).toBe("one");

    const second = await world.dial(server, { ...early, port: path.port }, client);
    expect(second.early).toBe(true);
    expect(second.alpnProtocol).toBe(ALPN[0]);
    const told = deferred<boolean>();
    second.attach(onSessionEvents({ onReady: told.resolve }));
    const reply = echoed(second, "two");
    await second.ready;
    expect([second.early, second.resumed, second.earlyDataAccepted]).toEqual([false, true, true]);
    expect(await told.promise).toBe(true);
    expect(await reply).toBe("two");
    expect(await echoed(second, "three")).toBe("three");
    expect(log).toEqual(["safe one", "early two", "safe three"]);
    expect(server.stats().handshakes).toBe(0);
    path.close();
  });

  test("a handshake brings two tickets, for sessions that follow each other faster than theirs come", async () => {
    const server = await world.serve(echo, early);
    const client = world.bind();
    expect(await echoed(await world.dial(server, early, client), "one")).toBe("one");
    const followers = await Promise.all([world.dial(server, early, client), world.dial(server, early, client)]);
    for (const session of followers) {
      expect(await echoed(session, "more")).toBe("more");
      expect([session.resumed, session.earlyDataAccepted]).toEqual([true, true]);
    }
  });

  test("the acceptor can wait for the handshake", async () => {
    const ready = deferred<[before: boolean, after: boolean]>();
    const server = await world.serve((session) => {
      const before = session.early;
      echo(session);
      if (before) void session.ready.then(() => ready.resolve([before, session.early]));
    }, early);
    const client = world.bind();
    await echoed(await world.dial(server, early, client), "one");
    await echoed(await world.dial(server, early, client), "two");
    expect(await ready.promise).toEqual([true, false]);
  });

  test("early data that the server does not take ends its streams; the session goes on", async () => {
    const log: string[] = [];
    const server = await world.serve(logging(log), early);
    const client = world.bind();
    expect(await echoed(await world.dial(server, early, client), "one")).toBe("one");
    // New options forget the tickets.
    server.updateTls({ tls: world.certificate, ...early });
    const session = await world.dial(server, early, client);
    expect(session.early).toBe(true);
    const lost: QuicStream[] = [session.openStream(), session.openStream()];
    const ends = lost.map((stream) => readAll(stream));
    for (const stream of lost) stream.write(bytes("lost"), true);
    for (const end of ends) {
      await expect(end).rejects.toMatchObject({ code: "ERR_QUIC_EARLY_DATA_REJECTED", source: "session" });
    }
    await session.ready;
    expect([session.early, session.resumed, session.earlyDataAccepted]).toEqual([false, false, false]);
    // Their ids belong to others now: what is still done to them must not reach those.
    const again = session.openStream();
    for (const stream of lost) {
      stream.write(bytes("x"));
      stream.reset(1);
      stream.stopSending(1);
    }
    again.write(bytes("again"), true);
    expect(String(await readAll(again))).toBe("again");
    expect(log).toEqual(["safe one", "safe again"]);
  });

  test("a stream that is given up in the turn it was made in is known to be", async () => {
    const stopped: number[] = [];
    const told = deferred();
    const server = await world.serve((session) => {
      session.attach(
        onSessionEvents({
          onStream(stream) {
            stream.attach(
              onStreamEvents({
                onStopSending: (code) => stopped.push(code) === 2 && told.resolve(),
                onData: (chunk) => stream.write(chunk, true),
              }),
            );
          },
        }),
      );
    }, early);
    const client = world.bind();
    await echoed(await world.dial(server, early, client), "one");
    const session = await world.dial(server, early, client);
    expect(session.early).toBe(true);
    for (const code of [1, 2]) {
      const stream = session.openStream();
      stream.write(bytes("x"), true);
      stream.stopSending(code);
    }
    await told.promise;
    expect(stopped).toEqual([1, 2]);
  });

  test("neither side does it unasked", async () => {
    const log: string[] = [];
    const willing = await world.serve(logging(log), early);
    const client = world.bind();
    for (let i = 0; i < 2; i++) {
      const session = await world.dial(willing, {}, client);
      await echoed(session, `${i}`);
      expect([session.early, session.resumed]).toEqual([false, false]);
    }
    const unwilling = await world.serve(logging(log));
    for (let i = 0; i < 2; i++) {
      const session = await world.dial(unwilling, early, client);
      await echoed(session, `${i}`);
      expect([session.early, session.resumed]).toEqual([false, false]);
    }
    expect(log).toEqual(["safe 0", "safe 1", "safe 0", "safe 1"]);
  });

  test("a first flight that is replayed is not processed again", async () => {
    const log: string[] = [];
    const server = await world.serve(logging(log), early);
    const relay = createSocket("udp4");
    const flight: Buffer[] = [];
    let client = 0;
    let recording = false;
    relay.on("message", (datagram, from) => {
      if (isPortProbe(datagram)) return;
      if (from.port !== server.address.port) {
        client = from.port;
        if (recording) flight.push(datagram);
        relay.send(datagram, server.address.port, "127.0.0.1");
      } else {
        // The server has answered: what follows depends on that.
        recording = false;
        relay.send(datagram, client, "127.0.0.1");
      }
    });
    await new Promise<void>((resolve) => relay.bind(0, "127.0.0.1", resolve));
    const { port } = relay.address();
    const dialler = world.bind();
    await echoed(await world.dial(server, { port, ...early }, dialler), "one");
    recording = true;
    const session = await world.dial(server, { port, ...early }, dialler);
    await echoed(session, "pay");
    const thief = createSocket("udp4");
    for (const datagram of flight) thief.send(datagram, server.address.port, "127.0.0.1");
    // The replayed ClientHello begins a handshake that nobody can complete.
    await vi.waitFor(() => expect(server.stats().handshakes).toBe(1));
    await echoed(session, "end");
    expect(log).toEqual(["safe one", "early pay", "safe end"]);
    thief.close();
    relay.close();
  });

  test("with shared keys another process resumes the session, but takes no early data", async () => {
    const [old, fresh, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    world.certificate = await certificate();
    const client = world.bind();
    const port = await freePort();
    /** A server on the same port each time, as if restarted; the client's session with it. */
    const visit = async (ticketKeys: Uint8Array[]): Promise<boolean> => {
      const server = Endpoint.bind({ host: "127.0.0.1", port, driver });
      server.listen({ alpn: ALPN, tls: world.certificate, ticketKeys }, echo);
      try {
        const session = await world.dial(server, early, client);
        expect(session.early).toBe(false);
        expect(await echoed(session, "hello")).toBe("hello");
        return session.resumed;
      } finally {
        await server.close();
      }
    };
    expect(await visit([old])).toBe(false);
    expect(await visit([old])).toBe(true);
    expect(await visit([fresh, old])).toBe(true);
    expect(await visit([fresh])).toBe(true);
    expect(await visit([foreign])).toBe(false);
  });

  test("a server that is gone: the session that began early ends", async () => {
    const server = await world.serve(echo, { ...early, port: await freePort() });
    const client = world.bind();
    await echoed(await world.dial(server, early, client), "one");
    await server.close();
    const session = await world.dial(server, { ...early, transport: { idleTimeoutMs: 300 } }, client);
    expect(session.early).toBe(true);
    await expect(session.ready).rejects.toMatchObject({ code: "ERR_QUIC_HANDSHAKE_TIMEOUT" });
    expect(session.early).toBe(false);
  });

  test("options that cannot be combined", async () => {
    const { cert, key } = await certificate();
    const listen = (options: object) => world.bind().listen({ alpn: ALPN, tls: { cert, key }, ...options }, echo);
    expect(() => listen({ earlyData: true, ticketKeys: [randomBytes(32)] })).toThrow("cannot be combined");
    expect(() => listen({ ticketKeys: [randomBytes(31)] })).toThrow("32 bytes");
  });
});
