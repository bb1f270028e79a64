import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { QuicSession } from "../dist/index.js";
import { bytes, deferred, DRIVERS, onSessionEvents, onStreamEvents, readAll, World } from "./harness.js";

async function read(session: QuicSession, count: number): Promise<string[]> {
  const reader = session.datagrams.readable.getReader();
  const texts: string[] = [];
  while (texts.length < count) texts.push(Buffer.from((await reader.read()).value as Uint8Array).toString());
  reader.releaseLock();
  return texts;
}

/** A stream there and back: what was sent before it has arrived, since loopback keeps the order. */
async function settle(from: QuicSession, to: QuicSession): Promise<void> {
  const writer = (await from.createUnidirectionalStream()).getWriter();
  await writer.write(bytes("x"));
  const reader = to.incomingUnidirectionalStreams.getReader();
  await reader.read();
  reader.releaseLock();
}

describe.each(DRIVERS)("datagrams and unidirectional streams of raw QUIC, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("a datagram arrives whole, through the direct interface", async () => {
    const [client, server] = await world.pair();
    const arrived = deferred<Uint8Array>();
    server.attach(onSessionEvents({ onDatagram: arrived.resolve }));
    const largest = new Uint8Array(client.datagrams.maxSize).fill(7);
    expect(client.datagrams.send(largest)).toBe(true);
    expect(Buffer.compare(await arrived.promise, largest)).toBe(0);
  });

  test("one that is too large is dropped: send says so, a write does not fail", async () => {
    const [client, server] = await world.pair();
    const tooLarge = new Uint8Array(client.datagrams.maxDatagramSize + 1);
    expect(client.datagrams.send(tooLarge)).toBe(false);
    const writer = client.datagrams.writable.getWriter();
    await writer.write(tooLarge);
    await writer.write(bytes("small"));
    expect(await read(server, 1)).toEqual(["small"]);
  });

  test("a peer that takes none: the size is 0 and nothing is sent", async () => {
    const [client] = await world.pair({ server: { datagramBuffer: 0 } });
    expect(client.datagrams.maxSize).toBe(0);
    expect(client.datagrams.send(bytes("x"))).toBe(false);
    await client.datagrams.writable.getWriter().write(bytes("x"));
  });

  test("of unread datagrams the newest are kept, and the others counted", async () => {
    const [client, server] = await world.pair();
    server.datagrams.incomingHighWaterMark = 3;
    for (let n = 0; n < 10; n++) client.datagrams.send(bytes(String(n)));
    await settle(client, server);
    expect(await read(server, 3)).toEqual(["7", "8", "9"]);
    expect((await server.getStats()).datagrams.droppedIncoming).toBe(7);
  });

  test("unread datagrams grow old", async () => {
    const [client, server] = await world.pair();
    client.datagrams.send(bytes("old"));
    await settle(client, server);
    const arrived = performance.now();
    server.datagrams.incomingMaxAge = 1;
    while (performance.now() - arrived < 2);
    const next = read(server, 1);
    client.datagrams.send(bytes("new"));
    expect(await next).toEqual(["new"]);
    expect(server.datagrams.stats().expiredIncoming).toBe(1);
  });

  test("a flood beyond the buffer waits, grows old or is dropped, and the session goes on", async () => {
    const [client, server] = await world.pair({ client: { datagramBuffer: 10_000 } });
    const got: number[] = [];
    const last = deferred();
    server.attach(
      onSessionEvents({
        onDatagram: (datagram) => {
          got.push(Buffer.from(datagram).readUInt32BE());
          if (got.at(-1) === 4_999) last.resolve();
        },
      }),
    );
    client.datagrams.outgoingHighWaterMark = 8;
    const writer = client.datagrams.writable.getWriter();
    for (let n = 0; n < 5_000; n++) {
      const datagram = Buffer.alloc(500);
      datagram.writeUInt32BE(n);
      await writer.write(datagram);
    }
    // Another one until the last has come through: datagrams may get lost.
    const final = Buffer.alloc(4);
    final.writeUInt32BE(4_999);
    const again = setInterval(() => client.datagrams.send(final), 5);
    await last.promise;
    clearInterval(again);
    expect(got.length).toBeGreaterThan(1_000);
    expect(client.datagrams.send(new Uint8Array(500))).toBe(true);
    let sent = 1;
    while (client.datagrams.send(new Uint8Array(500))) sent++;
    expect(sent).toBeLessThan(25);
  });

  test("the end of the session ends the datagrams' streams", async () => {
    const [client, server] = await world.pair();
    const reading = client.datagrams.readable.getReader().read();
    const writer = client.datagrams.writable.getWriter();
    server.close();
    expect((await reading).done).toBe(true);
    await expect(writer.closed).rejects.toThrow("closed");
    expect(client.datagrams.send(bytes("x"))).toBe(false);
    expect(client.datagrams.maxSize).toBe(0);
  });

  test("marks and ages that make no sense are refused", async () => {
    const [{ datagrams }] = await world.pair();
    expect(() => {
      datagrams.incomingMaxAge = -1;
    }).toThrow(RangeError);
    expect(() => {
      datagrams.outgoingHighWaterMark = Number.NaN;
    }).toThrow(RangeError);
    datagrams.outgoingMaxAge = null;
    expect(datagrams.outgoingMaxAge).toBe(Number.POSITIVE_INFINITY);
  });

  test("unidirectional streams, many at once, beyond the peer's limit", async () => {
    const [client, server] = await world.pair({ server: { maxUniStreams: 2 } });
    const texts: string[] = [];
    const all = deferred();
    server.attach(
      onSessionEvents({
        onUniStream: (stream) =>
          void readAll(stream).then((text) => {
            texts.push(text.toString());
            if (texts.length === 300) all.resolve();
          }, all.reject),
      }),
    );
    for (let n = 0; n < 300; n++) client.openUniStream().write(bytes(`stream ${n}`), true);
    await all.promise;
    expect(texts.toSorted()).toEqual(Array.from({ length: 300 }, (_, n) => `stream ${n}`).toSorted());
  });

  test("codes of unidirectional streams, and a handler that takes none", async () => {
    const [client, server] = await world.pair();
    const stopped = deferred<number>();
    server.attach(onSessionEvents({}));
    const refused = client.openUniStream();
    refused.attach(onStreamEvents({ onStopSending: stopped.resolve }));
    refused.write(bytes("x"));
    expect(await stopped.promise).toBe(0);

    const reset = deferred<number>();
    client.attach(
      onSessionEvents({ onUniStream: (stream) => stream.attach(onStreamEvents({ onReset: reset.resolve })) }),
    );
    const stream = server.openUniStream();
    stream.write(bytes("x"));
    stream.reset(99);
    expect(await reset.promise).toBe(99);
  });
});
