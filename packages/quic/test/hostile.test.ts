import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Endpoint, QuicSession } from "../dist/index.js";
import {
  bytes,
  DRIVERS,
  echo,
  isPortProbe,
  onSessionEvents,
  onStreamEvents,
  random,
  readAll,
  World,
} from "./harness.js";

async function udp(): Promise<Socket> {
  const socket = createSocket("udp4");
  await once(socket.bind(0, "127.0.0.1"), "listening");
  return socket;
}

describe.each(DRIVERS)("a hostile QUIC peer, %s driver", (driver) => {
  let world: World;
  let server: Endpoint;
  let bystander: QuicSession;

  beforeEach(async () => {
    world = new World(driver);
    server = await world.serve(echo);
    bystander = await world.dial(server);
  });
  afterEach(() => world.close());

  async function isWell(): Promise<void> {
    const stream = bystander.openStream();
    const reply = readAll(stream);
    stream.write(bytes("still well"), true);
    expect(String(await reply)).toBe("still well");
  }

  /** A session whose datagrams `tamper` turns into those that arrive. */
  async function tampered(tamper: (datagram: Buffer) => Buffer[]): Promise<[QuicSession, () => void]> {
    const [front, back] = [await udp(), await udp()];
    let client = 0;
    front.on("message", (datagram, from) => {
      if (isPortProbe(datagram)) return;
      client = from.port;
      for (const each of tamper(datagram)) back.send(each, server.address.port, "127.0.0.1");
    });
    back.on("message", (datagram) => {
      for (const each of tamper(datagram)) front.send(each, client, "127.0.0.1");
    });
    const session = await world.dial(server, { port: front.address().port });
    return [
      session,
      () => {
        front.close();
        back.close();
      },
    ];
  }

  test("packets that are changed, cut short, made longer, or sent twice, both ways", async () => {
    const next = random(11);
    const at = (datagram: Buffer): number => Math.floor(next() * datagram.length);
    const changed = (datagram: Buffer): Buffer => {
      const copy = Buffer.from(datagram);
      for (let n = 0; n < 3; n++) copy[at(copy)] = Math.floor(next() * 256);
      return copy;
    };
    const [session, end] = await tampered((datagram) => [
      changed(datagram),
      datagram.subarray(0, 1 + at(datagram)),
      Buffer.concat([datagram, changed(datagram)]).subarray(0, 60_000),
      datagram,
      datagram,
    ]);
    const data = Buffer.alloc(300_000).map(() => Math.floor(next() * 256));
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(data, true);
    expect((await reply).equals(data)).toBe(true);
    await isWell();
    end();
  });

  test("Initial packets of a version that is none, with lengths and tokens that lie", async () => {
    const next = random(12);
    const noise = await udp();
    for (let n = 0; n < 2_000; n++) {
      const datagram = Buffer.from(Uint8Array.from({ length: 1200 }, () => Math.floor(next() * 256)));
      datagram[0] = 0xc0 | (n & 0x3f);
      datagram.writeUInt32BE([1, 0, 0x1a2a3a4a, 0x6b3343cf][n % 4] as number, 1);
      // Destination and source connection ids of all lengths, and those that are too long.
      datagram[5] = n % 25;
      datagram[6 + (n % 25)] = (n >> 3) % 25;
      noise.send(datagram, server.address.port, "127.0.0.1");
      if (n % 100 === 0) await isWell();
    }
    await isWell();
    noise.close();
    expect(server.stats().sessions).toBe(1);
    // What began as a handshake is one of the limited number, and ends by its timeout.
    expect(server.stats().handshakes).toBeLessThanOrEqual(500);
  });

  test("a client that leaves at any step", async () => {
    const steps: ((session: QuicSession) => unknown)[] = [
      () => {},
      (session) => session.openStream(),
      (session) => session.openStream().write(bytes("half a")),
      (session) => session.openStream().write(bytes("a whole"), true),
      (session) => session.openStream().write(new Uint8Array(2_000_000), true),
      (session) => session.openStream().reset(3),
      (session) => session.openStream().stopSending(4),
      (session) => session.openUniStream().write(bytes("one way"), true),
      (session) => session.datagrams.send(bytes("a datagram")),
      (session) => {
        for (let n = 0; n < 300; n++) session.openStream().write(bytes("beyond the limit"), true);
      },
    ];
    for (const step of steps) {
      for (const turns of [0, 1, 3]) {
        const session = await world.dial(server);
        step(session);
        for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
        session.close({ closeCode: turns });
      }
    }
    await isWell();
    await expect.poll(() => server.stats().sessions).toBe(1);
  });

  test("a flood of datagrams that nobody reads", async () => {
    const session = await world.dial(server);
    const before = process.memoryUsage.rss();
    const datagram = new Uint8Array(1000);
    for (let n = 0; n < 100_000; n++) {
      session.datagrams.send(datagram);
      if (n % 1000 === 0) await new Promise(setImmediate);
    }
    await isWell();
    // 100 MB were sent.
    expect(process.memoryUsage.rss() - before).toBeLessThan(60e6);
  });

  test("a flood of streams that are reset at once, and of streams stopped", async () => {
    const session = await world.dial(server, { transport: { maxStreams: 0 } });
    session.attach(onSessionEvents({}));
    for (let n = 0; n < 20_000; n++) {
      const stream = session.openStream();
      stream.attach(onStreamEvents({}));
      if (n % 3 > 0) stream.write(bytes("x"));
      if (n % 3 !== 1) stream.reset(n);
      else stream.write(new Uint8Array(0), true);
      stream.stopSending(n);
      if (n % 500 === 0) await isWell();
    }
    await vi.waitFor(() => expect(session.stats()).toMatchObject({ openStreams: 0, waitingStreams: 0 }), 10_000);
    await isWell();
  });
});
