import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Endpoint, QuicSession, QuicStream } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { bytes, delayedPath, DRIVERS, onSessionEvents, onStreamEvents, readAll, World } from "./harness.js";

const MIB = 1024 * 1024;

/** A process that does what it is told: each message is the source of an async function, and its result is the answer. */
const PUPPET = `
  import { connect, Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
  const on = (events) => ({ onData() {}, onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {}, ...events });
  const world = { connect, Endpoint, on, env: process.env };
  process.on("message", async (body) => {
    process.send({ answer: await new Function("world", "return (async () => {" + body + "})()")(world) });
  });
  process.send({ answer: "ready" });`;

class Puppet {
  readonly #child: ChildProcess;
  /** Rejects when it ends, with what it wrote. */
  readonly #ended: Promise<never>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    let errors = "";
    child.stderr?.on("data", (text) => (errors += String(text)));
    this.#ended = once(child, "close").then(() => Promise.reject(new Error(`the process ended: ${errors}`)));
    this.#ended.catch(() => {});
  }

  static async start(env: NodeJS.ProcessEnv): Promise<Puppet> {
    const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", PUPPET], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    const puppet = new Puppet(child);
    await puppet.#message();
    return puppet;
  }

  async ask<T>(body: string): Promise<T> {
    this.#child.send(body);
    const [message] = (await this.#message()) as [{ answer: T }];
    return message.answer;
  }

  #message(): Promise<unknown[]> {
    return Promise.race([once(this.#child, "message"), this.#ended]);
  }

  /** Resident bytes, without what is garbage. */
  resident(): Promise<number> {
    return this.ask("gc(); await new Promise(setImmediate); gc(); return process.memoryUsage().rss;");
  }

  kill(): void {
    this.#child.kill();
  }
}

describe.each(DRIVERS)("windows, %s driver", (driver) => {
  let world: World;
  const puppets: Puppet[] = [];
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(async () => {
    for (const puppet of puppets.splice(0)) puppet.kill();
    await world.close();
  });

  test("a receive window grows while a path with a delay uses it up, and stays where its reader is slow", async () => {
    const server = await world.serve((session) => {
      session.attach(
        onSessionEvents({
          onStream: (stream) =>
            stream.attach(onStreamEvents({ onEnd: () => stream.write(new Uint8Array(2 * MIB), true) })),
        }),
      );
    });
    const path = await delayedPath(server.address.port, 10);
    try {
      const transport = { receiveWindow: 65_536, receiveWindowCeiling: MIB };
      const endpoint = world.bind();
      const [fast, fixed, slow] = (await Promise.all(
        [transport, { receiveWindow: 65_536 }, transport].map((windows) =>
          world.dial(server, { port: path.port, transport: windows }, endpoint),
        ),
      )) as [QuicSession, QuicSession, QuicSession];
      const ask = (session: QuicSession): QuicStream => {
        const stream = session.openStream();
        stream.write(bytes("!"), true);
        return stream;
      };
      ask(slow);
      expect((await readAll(ask(fast))).length).toBe(2 * MIB);
      expect((await readAll(ask(fixed))).length).toBe(2 * MIB);
      expect(fast.stats().receiveWindow).toBeGreaterThan(65_536);
      expect(fast.stats().receiveWindow).toBeLessThanOrEqual(MIB);
      expect(fixed.stats().receiveWindow).toBe(65_536);
      expect(slow.stats().receiveWindow).toBe(65_536);
    } finally {
      path.close();
    }
  });

  describe("of a stream between processes of one machine", () => {
    const ANSWER = 4 * MIB;
    let server: Endpoint;
    /** Of each large answer: how much the peer could not send at once. */
    let waiting: number[];
    let endpoint: Endpoint;
    beforeEach(async () => {
      waiting = [];
      server = await world.serve((session) => {
        const answer = (stream: QuicStream, question: Uint8Array): void => {
          if (question[0] === bytes("?")[0]) return void stream.write(bytes("."));
          stream.write(new Uint8Array(ANSWER));
          waiting.push(stream.pendingBytes());
        };
        session.attach(
          onSessionEvents({
            onStream: (stream) => stream.attach(onStreamEvents({ onData: (chunk) => answer(stream, chunk) })),
          }),
        );
      });
      endpoint = world.bind();
    });

    const dial = (transport = {}, port = server.address.port): Promise<QuicSession> =>
      world.dial(server, { port, transport }, endpoint);

    /** Opens a stream. Asks for a small or a large answer on it, and reads that. */
    function asking(session: QuicSession): (question: "?" | "!") => Promise<void> {
      const stream = session.openStream();
      let received = 0;
      stream.attach(onStreamEvents({ onData: (chunk) => void (received += chunk.length) }));
      return async (question) => {
        received = 0;
        stream.write(bytes(question));
        await vi.waitFor(() => expect(received).toBe(question === "?" ? 1 : ANSWER), 10_000);
      };
    }

    test("1 MiB is under way, or what a setting says", async () => {
      await asking(await dial())("!");
      expect(waiting).toEqual([3 * MIB]);
      await asking(await dial({ streamReceiveWindow: 2 * MIB }))("!");
      expect(waiting).toEqual([3 * MIB, 2 * MIB]);
    });

    test("more is, where the path has a delay", async () => {
      const path = await delayedPath(server.address.port, 10);
      try {
        const ask = asking(await dial({}, path.port));
        await ask("!");
        expect(waiting).toEqual([3 * MIB]);
        // At least one doubling, of which an eighth may not be announced yet.
        await vi.waitFor(async () => {
          await ask("!");
          expect(waiting.at(-1)).toBeLessThan(2.5 * MIB);
        }, 15_000);
      } finally {
        path.close();
      }
    });

    test("half as much is while calls go beside it, which do not wait behind the rest", async () => {
      const session = await dial();
      const [call, large] = [asking(session), asking(session)];
      await large("!");
      await call("?");
      // During this answer the window narrows.
      await large("!");
      await large("!");
      expect(waiting.at(-1)).toBeGreaterThanOrEqual(3.5 * MIB);
      // No call for 64 MiB.
      for (let n = 0; n < 18; n++) await large("!");
      expect(waiting.at(-1)).toBeLessThanOrEqual(3.2 * MIB);
      await call("?");
      await large("!");
      await large("!");
      expect(waiting.at(-1)).toBeGreaterThanOrEqual(3.5 * MIB);
    });
  });

  test("a reader that never reads: both processes stay within their windows, the writer stops, and goes on later", async () => {
    const { cert, key, hash } = await certificate();
    const [window, sendWindow, streams] = [32 * MIB, 16 * MIB, 4];
    const env = { CERT: cert, KEY: key, HASH: Buffer.from(hash).toString("hex"), QUICRPC_DRIVER: driver };
    const [reader, writer] = [await Puppet.start(env), await Puppet.start(env)];
    puppets.push(reader, writer);
    const transport = JSON.stringify({ streamReceiveWindow: window, receiveWindow: window, sendWindow });
    const port = await reader.ask<number>(`
      const { Endpoint, on, env } = world;
      const server = Endpoint.bind({ host: "127.0.0.1" });
      world.streams = [];
      world.received = 0;
      server.listen({ alpn: ["test/1"], tls: { cert: env.CERT, key: env.KEY }, transport: ${transport} }, (session) => {
        world.session = session;
        session.attach({ onStream: (stream) => {
          world.streams.push(stream);
          stream.attach(on({ onData: (chunk) => { world.received += chunk.length; } }));
          stream.pause();
        }, onClosed() {} });
      });
      return server.address.port;`);
    await writer.ask(`
      const { connect, on, env } = world;
      const tls = { serverCertificateHashes: [{ algorithm: "sha-256", value: Buffer.from(env.HASH, "hex") }] };
      world.session = await connect({ host: "127.0.0.1", port: ${port}, alpn: ["test/1"], tls, transport: ${transport} });
      world.chunk = new Uint8Array(64 * 1024).fill(7);
      world.written = 0;`);
    const before = { reader: await reader.resident(), writer: await writer.resident() };
    await writer.ask(`
      for (let n = 0; n < ${streams}; n++) {
        const stream = world.session.openStream();
        const fill = () => { do { world.written += world.chunk.length; } while (stream.write(world.chunk)); };
        stream.attach(world.on({ onDrain: fill }));
        fill();
      }`);
    // Everything that may arrive has arrived, or is about to.
    await vi.waitFor(
      async () => expect(await reader.ask("return world.session.stats().receivedBytes;")).toBeGreaterThan(window),
      10_000,
    );
    const written = await writer.ask<number>("return world.written;");
    // The peer's window, the send window, and on each stream the high-water mark and one write.
    expect(written).toBeLessThanOrEqual(window + sendWindow + streams * (256 + 64) * 1024);
    expect((await reader.resident()) - before.reader).toBeLessThan(2 * window);
    expect((await writer.resident()) - before.writer).toBeLessThan(2 * (sendWindow + streams * (256 + 64) * 1024));
    expect(await reader.ask<number>("return world.received;")).toBeLessThan(MIB);
    await reader.ask("for (const stream of world.streams) stream.resume();");
    await vi.waitFor(
      async () => expect(await reader.ask<number>("return world.received;")).toBeGreaterThan(written),
      10_000,
    );
  });
});
