import { createHash, randomFillSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { QuicSession, QuicStream } from "../dist/index.js";
import { bytes, deferred, DRIVERS, echo, endings, onSessionEvents, onStreamEvents, readAll, World } from "./harness.js";

/** The next stream the peer opens. */
function nextStream(session: QuicSession): Promise<QuicStream> {
  const { promise, resolve } = deferred<QuicStream>();
  session.attach(onSessionEvents({ onStream: resolve }));
  return promise;
}

/** A stream known to both ends. */
async function streamPair(client: QuicSession, server: QuicSession): Promise<[QuicStream, QuicStream]> {
  const arriving = nextStream(server);
  const stream = client.openStream();
  stream.write(bytes("!"));
  return [stream, await arriving];
}

/** Packets have gone both ways: whatever was sent before has arrived. */
async function roundTrip(client: QuicSession, server: QuicSession): Promise<void> {
  const before = server.stats().receivedBytes;
  const probe = client.openStream();
  probe.write(bytes("probe"));
  probe.reset(0);
  await vi.waitFor(() => expect(server.stats().receivedBytes).toBeGreaterThan(before), { interval: 1 });
}

describe.each(DRIVERS)("streams, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("echoes, FIN both ways", async () => {
    const server = await world.serve(echo);
    const client = world.bind();
    expect(client.driver).toBe(driver);
    const session = await world.dial(server, {}, client);
    const stream = session.openStream();
    expect(stream.id).toBe(0);
    const reply = readAll(stream);
    stream.write(bytes("hello, "));
    stream.write(bytes("world"), true);
    expect((await reply).toString()).toBe("hello, world");
    expect(stream.id).toBe(0);
    expect(session.openStream().id).toBe(4);
  });

  test("the memory of chunks that are borrowed is used again, that of others never", async () => {
    const server = await world.serve(echo);
    const session = await world.dial(server);
    const LETTERS = Array.from("abcdefghijklmnop");
    const kept: Uint8Array[] = [];
    const memory = new Set<ArrayBufferLike>();
    const addresses = new Set<number>();
    const turn = async (letter: string, borrows: boolean): Promise<void> => {
      const stream = session.openStream();
      const { promise, resolve } = deferred();
      stream.attach(
        onStreamEvents({
          borrows,
          onData(chunk) {
            if (!borrows) kept.push(chunk);
            else {
              memory.add(chunk.buffer);
              addresses.add(chunk.byteOffset);
            }
          },
          onEnd: resolve,
        }),
      );
      stream.write(bytes(letter.repeat(500)), true);
      await promise;
    };
    for (const letter of LETTERS) await turn(letter, true);
    expect([memory.size, addresses.size]).toEqual([1, 1]);
    for (const letter of LETTERS) {
      await turn(letter, false);
      await turn("!", true);
    }
    expect(Buffer.concat(kept).toString()).toBe(LETTERS.map((letter) => letter.repeat(500)).join(""));
  });

  test("small and large writes of one turn arrive in their order, also on streams that wait for the peer's limit", async () => {
    const server = await world.serve(echo, { transport: { maxStreams: 2 } });
    const session = await world.dial(server);
    const sizes = [
      1,
      20,
      16_383,
      1,
      0,
      16_384,
      16_385,
      7,
      300_000,
      3,
      5_000,
      11_384,
      1,
      ...Array<number>(3_000).fill(13),
    ];
    const pieces = sizes.map((size) => randomFillSync(new Uint8Array(size)));
    const sent = createHash("sha256").update(Buffer.concat(pieces)).digest("hex");
    const echoes = [true, false, true, false].map((endsAlone) => {
      const stream = session.openStream();
      const echoed = readAll(stream);
      pieces.forEach((piece, i) => stream.write(piece, !endsAlone && i === pieces.length - 1));
      if (endsAlone) stream.write(new Uint8Array(0), true);
      return echoed;
    });
    for (const echoed of echoes)
      expect(
        createHash("sha256")
          .update(await echoed)
          .digest("hex"),
      ).toBe(sent);
  });

  test("an empty stream ends both ways", async () => {
    const session = await world.dial(await world.serve(echo));
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(new Uint8Array(0), true);
    expect((await reply).length).toBe(0);
  });

  test("half close: the server answers after the client's FIN, at its leisure", async () => {
    const [client, server] = await world.pair();
    const arriving = nextStream(server);
    const stream = client.openStream();
    const reply = readAll(stream);
    stream.write(bytes("question"), true);
    const remote = await arriving;
    expect((await readAll(remote)).toString()).toBe("question");
    for (const word of ["an", "swer"]) {
      remote.write(bytes(word));
      await new Promise(setImmediate);
    }
    remote.write(new Uint8Array(0), true);
    expect((await reply).toString()).toBe("answer");
  });

  test("the server opens streams too", async () => {
    const [client, server] = await world.pair();
    echo(client);
    const stream = server.openStream();
    expect(stream.id).toBe(1);
    const reply = readAll(stream);
    stream.write(bytes("from the server"), true);
    expect((await reply).toString()).toBe("from the server");
  });

  test.each([0, 1, 0xffff_ffff])("reset carries code %i", async (code) => {
    const [client, server] = await world.pair();
    const [local, remote] = await streamPair(client, server);
    const seen = deferred<number>();
    remote.attach(onStreamEvents({ onReset: seen.resolve }));
    local.reset(code);
    expect(await seen.promise).toBe(code);
    const back = deferred<number>();
    local.attach(onStreamEvents({ onReset: back.resolve }));
    remote.reset(code);
    expect(await back.promise).toBe(code);
  });

  test.each([0, 1, 0xffff_ffff])("stopSending carries code %i", async (code) => {
    const [client, server] = await world.pair();
    const [local, remote] = await streamPair(client, server);
    const seen = deferred<number>();
    remote.attach(onStreamEvents({ onStopSending: seen.resolve }));
    local.stopSending(code);
    expect(await seen.promise).toBe(code);
    expect(remote.write(bytes("void"))).toBe(true);
    const back = deferred<number>();
    local.attach(onStreamEvents({ onStopSending: back.resolve }));
    remote.stopSending(code);
    expect(await back.promise).toBe(code);
  });

  test("stopSending reaches a peer that has sent everything and forgotten the stream", async () => {
    const [client, server] = await world.pair({ client: { streamReceiveWindow: 16_384 } });
    server.attach(
      onSessionEvents({
        onStream: (stream) =>
          stream.attach(onStreamEvents({ onEnd: () => stream.write(new Uint8Array(100_000), true) })),
      }),
    );
    const stream = client.openStream();
    const first = deferred();
    stream.attach(onStreamEvents({ onData: () => first.resolve() }));
    stream.write(bytes("?"), true);
    await first.promise;
    stream.stopSending(9);
    // The session goes on.
    const next = client.openStream();
    const reply = readAll(next);
    next.write(bytes("?"), true);
    expect((await reply).length).toBe(100_000);
  });

  test("32 MiB both ways arrive intact", async () => {
    const session = await world.dial(await world.serve(echo));
    const stream = session.openStream();
    const data = randomFillSync(Buffer.alloc(32 << 20));
    const hash = createHash("sha256");
    let received = 0;
    const done = deferred();
    let at = 0;
    const send = (): void => {
      while (at < data.length) {
        const chunk = data.subarray(at, at + 100_000);
        at += chunk.length;
        if (!stream.write(chunk, at === data.length)) return;
      }
    };
    stream.attach(
      onStreamEvents({
        onData: (chunk) => {
          hash.update(chunk);
          received += chunk.length;
        },
        onDrain: send,
        onEnd: () => done.resolve(),
      }),
    );
    send();
    await done.promise;
    expect(received).toBe(data.length);
    expect(hash.digest("hex")).toBe(createHash("sha256").update(data).digest("hex"));
  });

  test("a reader that pauses stalls the writer; memory is bounded; everything arrives after resume", async () => {
    const limits = { streamReceiveWindow: 65_536, sendWindow: 131_072, highWaterMark: 65_536 };
    const [client, server] = await world.pair({ server: limits, client: limits });
    const arriving = deferred<QuicStream>();
    server.attach(
      onSessionEvents({
        onStream: (stream) => {
          if (stream.id === 0) arriving.resolve(stream);
          else stream.attach(onStreamEvents({ onEnd: () => stream.write(new Uint8Array(0), true) }));
        },
      }),
    );
    const local = client.openStream();
    local.write(bytes("!"));
    const remote = await arriving.promise;
    let received = 0;
    const end = deferred();
    remote.attach(onStreamEvents({ onData: (chunk) => void (received += chunk.length), onEnd: () => end.resolve() }));
    remote.pause();
    let drains = 0;
    let drained = deferred();
    local.attach(
      onStreamEvents({
        onDrain: () => {
          drains++;
          drained.resolve();
        },
      }),
    );
    const chunk = new Uint8Array(10_000).fill(7);
    let sent = 1;
    const fill = (): void => {
      let room = true;
      while (room) {
        room = local.write(chunk);
        sent += chunk.length;
      }
    };
    fill();
    // What the peer's window and the send window hold at most, the high-water mark, and one write.
    expect(sent).toBeLessThanOrEqual(65_536 + 131_072 + 65_536 + 2 * chunk.length);
    // A round trip on another stream: whatever can have moved has moved.
    for (let i = 0; i < 3; i++) {
      const other = client.openStream();
      const answered = readAll(other);
      other.write(bytes("ping"), true);
      await answered;
    }
    expect(received).toBeLessThanOrEqual(1);
    expect(drains).toBe(0);
    remote.resume();
    await drained.promise;
    expect(drains).toBe(1);
    drained = deferred();
    fill();
    await drained.promise;
    expect(drains).toBe(2);
    local.write(new Uint8Array(0), true);
    await end.promise;
    expect(received).toBe(sent);
  });

  test("writes from timers, immediates and promises leave without other traffic", async () => {
    const session = await world.dial(await world.serve(echo));
    const stream = session.openStream();
    // More than a packet of QUIC's own has.
    const message = new Uint8Array(5_000);
    let received = 0;
    let answered = deferred();
    stream.attach(
      onStreamEvents({
        onData: (chunk) => {
          received += chunk.length;
          if (received === message.length) answered.resolve();
        },
      }),
    );
    const turns: ((run: () => void) => void)[] = [
      // oxlint-disable-next-line eslint/no-restricted-globals -- what is tested
      (run) => setTimeout(run),
      (run) => setImmediate(run),
      (run) => setImmediate(() => queueMicrotask(run)),
      // oxlint-disable-next-line eslint/no-restricted-globals -- what is tested
      (run) => setTimeout(() => process.nextTick(run)),
      (run) => void Promise.resolve().then(run),
      (run) => void readFile(import.meta.filename).then(run),
    ];
    for (const turn of turns) {
      received = 0;
      answered = deferred();
      const left = deferred<number>();
      turn(() => {
        const before = session.stats().sentBytes;
        stream.write(message);
        // The engine sends before the loop waits, or in the next turn.
        setImmediate(() => setImmediate(() => left.resolve(session.stats().sentBytes - before)));
      });
      expect(await left.promise).toBeGreaterThan(message.length);
      await answered.promise;
    }
  });

  test("a call that ends a stream keeps nothing of the same batch from it", async () => {
    const [client, server] = await world.pair();
    const remotes: QuicStream[] = [];
    const both = deferred();
    server.attach(
      onSessionEvents({
        onStream: (stream) => {
          remotes.push(stream);
          if (remotes.length === 2) both.resolve();
        },
      }),
    );
    const [first, second] = [client.openStream(), client.openStream()];
    const logs: string[][] = [[], []];
    const over = deferred();
    const ends = (): void => {
      if (logs.flat().filter((entry) => entry === "end").length === 2) over.resolve();
    };
    [first, second].forEach((stream, index) =>
      stream.attach(
        onStreamEvents({
          onData: (chunk) => {
            logs[index]?.push(String(Buffer.from(chunk)));
            // Whichever comes first ends the sending side of both.
            first.write(bytes("thanks"), true);
            second.write(bytes("thanks"), true);
          },
          onEnd: () => {
            logs[index]?.push("end");
            ends();
          },
        }),
      ),
    );
    first.write(bytes("?"));
    second.write(bytes("?"));
    await both.promise;
    for (const remote of remotes) remote.write(bytes("answer"), true);
    await over.promise;
    expect(logs).toEqual([
      ["answer", "end"],
      ["answer", "end"],
    ]);
  });

  test("stopSending within the batch that brings the peer's STOP_SENDING", async () => {
    const [client, server] = await world.pair({ client: { highWaterMark: 0, sendWindow: 1024 } });
    const [local, remote] = await streamPair(client, server);
    const log: string[] = [];
    const told = deferred();
    expect(local.write(new Uint8Array(100_000))).toBe(false);
    local.attach(
      onStreamEvents({
        onData: () => {
          log.push("data");
          local.stopSending(1);
        },
        onStopSending: (code) => {
          log.push(`stop ${code}`);
          local.stopSending(1);
          told.resolve();
        },
      }),
    );
    remote.write(bytes("x"));
    remote.stopSending(7);
    // Each that waits for room is woken by one end or another.
    await told.promise;
    expect(log).toContain("stop 7");
  });

  test("a peer cannot fill memory with streams that nobody attaches", async () => {
    const [client, server] = await world.pair({ server: { receiveWindow: 16 << 20 } });
    const block = new Uint8Array(200_000);
    for (let i = 0; i < 150; i++) client.openStream().write(block);
    await vi.waitFor(() => expect(server.stats().receivedBytes).toBeGreaterThan(16 << 20), {
      interval: 5,
      timeout: 10_000,
    });
    let delivered = 0;
    const streams: QuicStream[] = [];
    server.attach(onSessionEvents({ onStream: (stream) => void streams.push(stream) }));
    for (const stream of streams) {
      stream.attach(
        onStreamEvents({
          onData: (chunk) => {
            delivered += chunk.length;
            stream.pause();
          },
        }),
      );
    }
    await Promise.resolve();
    // What had left QUIC's flow control: at most 4 KiB of each.
    expect(streams.length).toBeGreaterThanOrEqual(80);
    expect(delivered).toBeGreaterThan(0);
    expect(delivered).toBeLessThanOrEqual(4096 * streams.length);
  });

  test("nor with streams that it resets and stops at once", async () => {
    const [client, server] = await world.pair();
    for (let i = 0; i < 4200; i++) {
      const stream = client.openStream();
      // One that is aborted while it waits for the limit never reaches the peer.
      if (stream.id < 0) await vi.waitFor(() => expect(stream.id).toBeGreaterThanOrEqual(0), { interval: 1 });
      stream.write(bytes("x"));
      stream.reset(0);
      stream.stopSending(0);
      if (i % 50 === 49) await new Promise(setImmediate);
    }
    const last = client.openStream();
    const over = deferred();
    last.attach(onStreamEvents({ onReset: () => over.resolve() }));
    last.write(bytes("x"));
    // Refused: too many are waiting already.
    await over.promise;
    let waiting = 0;
    server.attach(onSessionEvents({ onStream: () => void waiting++ }));
    expect(waiting).toBe(4096);
  });

  test("beyond the peer's limit streams wait: 500 streams with a limit of 10", async () => {
    const server = await world.serve(echo, { transport: { maxStreams: 10 } });
    const session = await world.dial(server);
    const streams = Array.from({ length: 500 }, () => session.openStream());
    expect(streams[9]?.id).toBe(36);
    expect(streams[10]?.id).toBe(-1);
    const replies = streams.map((stream, index) => {
      const reply = readAll(stream);
      stream.write(bytes(`stream ${index}`), true);
      return reply;
    });
    const texts = (await Promise.all(replies)).map(String);
    expect(texts).toEqual(streams.map((_, index) => `stream ${index}`));
  });

  test("a waiting stream remembers reset and stopSending", async () => {
    const [client, server] = await world.pair({ server: { maxStreams: 1 } });
    const arrived: QuicStream[] = [];
    const codes: number[] = [];
    const done = deferred();
    server.attach(
      onSessionEvents({
        onStream(stream) {
          arrived.push(stream);
          stream.attach(
            onStreamEvents({
              onReset: (code) => {
                codes.push(code);
                stream.write(new Uint8Array(0), true);
              },
              onEnd: () => {
                stream.write(new Uint8Array(0), true);
                if (arrived.length === 3) done.resolve();
              },
            }),
          );
        },
      }),
    );
    const [first, reset, dropped, last] = [
      client.openStream(),
      client.openStream(),
      client.openStream(),
      client.openStream(),
    ];
    reset.reset(5);
    dropped.reset(1);
    dropped.stopSending(1);
    last.write(bytes("x"), true);
    first.write(bytes("x"), true);
    await done.promise;
    expect(codes).toEqual([5]);
  });

  test("of streams that wait to be sent, those of higher priority go first", async () => {
    const [client, server] = await world.pair();
    const order = endings(server, 4);
    const body = (name: string): Uint8Array => new Uint8Array(300_000).fill(name.charCodeAt(0));
    const priorities = { low: -1, none: undefined, high: 5, first: Number.POSITIVE_INFINITY };
    for (const [name, priority] of Object.entries(priorities)) {
      const stream = await client.createBidirectionalStream(priority === undefined ? {} : { sendOrder: priority });
      stream.write(body(name), true);
    }
    expect(await order).toEqual(["f", "h", "n", "l"]);
  });

  test("many streams at once, data of each intact", async () => {
    const session = await world.dial(await world.serve(echo));
    const replies = Array.from({ length: 1000 }, async (_, index) => {
      const stream = session.openStream();
      const reply = readAll(stream);
      const data = Buffer.alloc(1 + index * 17, index);
      stream.write(data, true);
      return (await reply).equals(data);
    });
    expect((await Promise.all(replies)).every(Boolean)).toBe(true);
  });

  test("streams finished one by one leave nothing behind", async () => {
    const session = await world.dial(await world.serve(echo));
    for (let i = 0; i < 2000; i++) {
      const stream = session.openStream();
      expect(stream.id).toBe(4 * i);
      const reply = readAll(stream);
      stream.write(bytes("x"), true);
      await reply;
    }
  });

  test("calls on a stream that has ended do nothing, also when its place is taken", async () => {
    const session = await world.dial(await world.serve(echo));
    const old = session.openStream();
    const reply = readAll(old);
    old.write(bytes("x"), true);
    await reply;
    const taker = session.openStream();
    const second = readAll(taker);
    expect(old.write(bytes("stale"), true)).toBe(true);
    old.reset(1);
    old.stopSending(2);
    old.pause();
    old.resume();
    taker.write(bytes("fresh"), true);
    expect((await second).toString()).toBe("fresh");
  });

  test("within one batch a freed stream's records reach no newer stream", async () => {
    const session = await world.dial(await world.serve(echo));
    const results: Promise<Buffer>[] = [];
    await Promise.all(
      Array.from({ length: 50 }, () => {
        const done = deferred();
        const stream = session.openStream();
        stream.attach(
          onStreamEvents({
            onData: () => {
              stream.stopSending(0);
              stream.reset(0);
              const next = session.openStream();
              results.push(readAll(next));
              next.write(bytes("next"), true);
              done.resolve();
            },
          }),
        );
        stream.write(bytes("first"), true);
        return done.promise;
      }),
    );
    expect((await Promise.all(results)).map(String)).toEqual(Array(50).fill("next"));
  });

  test("what arrives before a handler is attached is kept", async () => {
    const [client, server] = await world.pair();
    const stream = client.openStream();
    stream.write(bytes("early "));
    stream.write(bytes("bird"), true);
    const reply = readAll(stream);
    // Let it arrive before anyone listens, first on the session, then on the stream.
    await vi.waitFor(() => expect(client.stats().sentBytes).toBeGreaterThan(0));
    await roundTrip(client, server);
    const remote = await nextStream(server);
    await roundTrip(client, server);
    expect((await readAll(remote)).toString()).toBe("early bird");
    remote.write(bytes("worm"), true);
    expect((await reply).toString()).toBe("worm");
  });

  test("a handler may pause between data and end", async () => {
    const [client, server] = await world.pair();
    const [local, remote] = await streamPair(client, server);
    const log: string[] = [];
    const ended = deferred();
    remote.attach(
      onStreamEvents({
        onData: () => {
          log.push("data");
          remote.pause();
          setImmediate(() => {
            log.push("resume");
            remote.resume();
          });
        },
        onEnd: () => {
          log.push("end");
          ended.resolve();
        },
      }),
    );
    local.write(new Uint8Array(0), true);
    await ended.promise;
    expect(log.at(-1)).toBe("end");
    expect(log.indexOf("end")).toBeGreaterThan(log.indexOf("resume"));
  });

  test("chunks stay as they are, and transferring one harms nobody", async () => {
    const [client, server] = await world.pair();
    const [local, remote] = await streamPair(client, server);
    const kept: Uint8Array[] = [];
    let waiting = deferred();
    remote.attach(
      onStreamEvents({
        onData: (chunk) => {
          kept.push(chunk);
          waiting.resolve();
        },
      }),
    );
    await waiting.promise;
    structuredClone(kept[0], { transfer: [kept[0]!.buffer as ArrayBuffer] });
    for (let i = 0; i < 3; i++) {
      waiting = deferred();
      local.write(new Uint8Array(1000).fill(i));
      await waiting.promise;
    }
    expect(kept.slice(1).map((chunk) => [chunk[0], chunk.at(-1)])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });
});
