import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer, TLSSocket } from "node:tls";
import { devCertificate } from "@quicrpc/node";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../../test/open.js";
import { holdReads } from "../listen/held-reads.js";
import { nodeStreamTransport, soleReader } from "./node-stream.js";

const open = closedAfterEach();

/** Returns both sides of a connection. */
async function connected(kind: "tcp" | "tls"): Promise<{ dialled: Socket; accepted: Socket }> {
  const { cert, key } = await devCertificate();
  const server = kind === "tcp" ? createServer() : createTlsServer({ cert, key });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const accepting = once(server, kind === "tcp" ? "connection" : "secureConnection") as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const dialled = kind === "tcp" ? connect(port, "127.0.0.1") : connectTls({ port, host: "127.0.0.1", ca: cert });
  const [accepted] = await accepting;
  server.close();
  for (const socket of [dialled, accepted]) {
    socket.on("error", () => {});
    open.push({ close: () => socket.destroy() });
  }
  return { dialled, accepted };
}

/** How the reader handles one chunk. */
interface Step {
  readonly borrows: boolean;
  /**
   * If set, the reader pauses, puts back all bytes after the first `take`, and resumes after some turns of the event
   * loop.
   */
  readonly pause?: { readonly take: number; readonly turns: number };
}

/** Reads all bytes from a socket in these steps. The last step is repeated. */
function readBy(
  steps: readonly Step[],
  socket: Socket,
): { chunks: Uint8Array[]; copies: Buffer[]; ended: Promise<void> } {
  const bytes = soleReader(socket);
  const chunks: Uint8Array[] = [];
  const copies: Buffer[] = [];
  let at = 0;
  let paused = false;
  const ended = new Promise<void>((resolve) => {
    bytes.attach({
      get borrows() {
        return steps[Math.min(at, steps.length - 1)]?.borrows ?? true;
      },
      onData(chunk) {
        // One that was delivered although the stream is paused would come ahead of what was taken back.
        expect(paused).toBe(false);
        const pause = steps[Math.min(at, steps.length - 1)]?.pause;
        const taken = chunk.subarray(0, pause?.take);
        chunks.push(chunk);
        copies.push(Buffer.from(taken));
        at++;
        if (pause === undefined) return;
        paused = true;
        bytes.pause();
        if (taken.length < chunk.length) bytes.unread(chunk.subarray(taken.length));
        const wait = (turns: number): void => {
          if (turns > 0) {
            setImmediate(wait, turns - 1);
            return;
          }
          paused = false;
          bytes.resume();
        };
        wait(pause.turns);
      },
      onDrain() {},
      onEnd: resolve,
      onClosed: () => resolve(),
    });
  });
  return { chunks, copies, ended };
}

/**
 * Writes until the reader has received nothing for 200 turns of the event loop, or until 64 MiB. Returns the number of
 * bytes received.
 */
async function bytesUntilStalled(reader: Socket, writer: Socket): Promise<number> {
  const chunk = Buffer.alloc(256 * 1024);
  let before = -1;
  for (let idle = 0; idle < 200 && reader.bytesRead < 64 * 1024 * 1024; ) {
    if (!writer.writableNeedDrain) writer.write(chunk);
    await new Promise(setImmediate);
    idle = reader.bytesRead === before ? idle + 1 : 0;
    before = reader.bytesRead;
  }
  return before;
}

const content = Buffer.from(Uint8Array.from({ length: 400_000 }, (_, i) => (i * 7 + (i >>> 8)) % 251));

const steps = fc.array(
  fc.record(
    {
      borrows: fc.boolean(),
      pause: fc.record({ take: fc.integer({ min: 0, max: 20_000 }), turns: fc.integer({ min: 0, max: 3 }) }),
    },
    { requiredKeys: ["borrows"] },
  ),
  { minLength: 1, maxLength: 30 },
);
const writes = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 12 });

describe.each(["tcp", "tls"] as const)("what a socket receives: %s", (kind) => {
  it.each(["dialled", "accepted"] as const)("comes in memory that is used again, at the end that %s", async (end) => {
    const { dialled, accepted } = await connected(kind);
    const [reader, writer] = end === "dialled" ? [dialled, accepted] : [accepted, dialled];
    const { chunks, copies, ended } = readBy([], reader);
    writer.end(content);
    await ended;
    expect(Buffer.concat(copies).equals(content)).toBe(true);
    // The first is Node's own.
    expect(new Set(chunks.slice(1).map(({ buffer }) => buffer)).size).toBe(1);
    expect(chunks.length).toBeGreaterThan(4);
  });

  it("comes in memory of its own where the reader keeps it", async () => {
    const { dialled, accepted } = await connected(kind);
    const borrowed = { borrows: true };
    const { chunks, ended } = readBy([borrowed, borrowed, { borrows: false }], dialled);
    accepted.end(content);
    await ended;
    const kept = chunks.slice(2);
    const length = kept.reduce((sum, chunk) => sum + chunk.length, 0);
    expect(Buffer.concat(kept).equals(content.subarray(content.length - length))).toBe(true);
    expect(kept.length).toBeGreaterThan(2);
  });

  it("is all there, in order, whenever the reader pauses and takes bytes back", { timeout: 60_000 }, () =>
    fc.assert(
      fc.asyncProperty(steps, writes, fc.boolean(), async (steps, lengths, isInSmallRecords) => {
        const { dialled, accepted } = await connected(kind);
        if (isInSmallRecords && accepted instanceof TLSSocket) accepted.setMaxSendFragment(512);
        const { copies, ended } = readBy([...steps, { borrows: true }], dialled);
        let at = 0;
        for (const length of lengths) {
          accepted.write(content.subarray(at, at + length));
          at = Math.min(content.length, at + length);
          await new Promise(setImmediate);
        }
        accepted.end(content.subarray(at));
        await ended;
        expect(Buffer.concat(copies).equals(content)).toBe(true);
      }),
      { numRuns: 40 },
    ),
  );

  it("is not written over by a reader that writes nothing", async () => {
    const { dialled, accepted } = await connected(kind);
    const bytes = soleReader(dialled);
    const copies: Buffer[] = [];
    const ended = new Promise<void>((resolve) => {
      bytes.attach({
        borrows: true,
        onData(chunk) {
          bytes.write(new Uint8Array(0));
          copies.push(Buffer.from(chunk));
        },
        onDrain() {},
        onEnd: resolve,
        onClosed: () => resolve(),
      });
    });
    accepted.end(content);
    await ended;
    expect(Buffer.concat(copies).equals(content)).toBe(true);
  });

  it("stops the peer while the reader stays paused", async () => {
    const { dialled, accepted } = await connected(kind);
    const { copies } = readBy([{ borrows: true }, { borrows: true, pause: { take: 1, turns: Infinity } }], dialled);
    // TLS delivers all records of one read, also after a pause. Each is pushed, and after a push Node reads again.
    if (accepted instanceof TLSSocket) accepted.setMaxSendFragment(512);
    const bytesRead = await bytesUntilStalled(dialled, accepted);
    expect(copies).toHaveLength(2);
    expect(bytesRead).toBeLessThan(512 * 1024);
  });

  it("waits while its reads are held, and comes in such memory afterwards", async () => {
    const { dialled, accepted } = await connected(kind);
    const held = holdReads(accepted);
    const { chunks, copies, ended } = readBy([], accepted);
    dialled.write(content.subarray(0, 100_000));
    held.pass(10_000);
    await expect.poll(() => Buffer.concat(copies).length).toBe(10_000);
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    expect(Buffer.concat(copies).length).toBe(10_000);
    held.release();
    dialled.end(content.subarray(100_000));
    await ended;
    expect(Buffer.concat(copies).equals(content)).toBe(true);
    const last = chunks.slice(-2).map(({ buffer }) => buffer);
    expect(last[0]).toBe(last[1]);
  });
});

describe("what a session sends over TLS", () => {
  /** Records the number of bytes of each write from the stream to TLS. */
  function lengthsOf(socket: Socket): number[] {
    const lengths: number[] = [];
    const write = socket._write.bind(socket);
    const writev = socket._writev?.bind(socket);
    socket._write = (chunk: Buffer, ...rest) => {
      lengths.push(chunk.length);
      write(chunk, ...rest);
    };
    socket._writev = (chunks, callback) => {
      lengths.push(chunks.reduce((sum, { chunk }) => sum + (chunk as Buffer).length, 0));
      writev?.(chunks, callback);
    };
    return lengths;
  }

  it("is encrypted in pieces of at most 256 KiB, and arrives in order", async () => {
    const { dialled, accepted } = await connected("tls");
    const lengths = lengthsOf(accepted);
    const { copies, ended } = readBy([], dialled);
    const bytes = soleReader(accepted);
    const parts = [10, 3_000_000, 5000, 200_000, 200_000, 700_000, 1].map((length, i) => Buffer.alloc(length, i + 1));
    for (const part of parts) bytes.write(part);
    bytes.end();
    await ended;
    expect(Buffer.concat(copies).equals(Buffer.concat(parts))).toBe(true);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(256 * 1024);
  });

  it("is resumed once a peer that paused has read it", async () => {
    const { dialled, accepted } = await connected("tls");
    const bytes = soleReader(accepted);
    const drained = new Promise<void>((resolve) => {
      bytes.attach({ onData() {}, onDrain: resolve, onEnd() {}, onClosed() {} });
    });
    expect(bytes.write(Buffer.alloc(100))).toBe(true);
    expect(bytes.write(Buffer.alloc(16_000_000))).toBe(false);
    expect(bytes.pendingBytes()).toBe(16_000_100);
    dialled.resume();
    await drained;
    expect(bytes.pendingBytes()).toBeLessThanOrEqual(256 * 1024);
  });

  it("leaves the methods of the socket as they were", async () => {
    const { accepted } = await connected("tls");
    const methods = (): unknown[] => ["_write", "_writev", "write", "end"].map((name) => Reflect.get(accepted, name));
    const [before, names] = [methods(), Object.getOwnPropertyNames(accepted)];
    nodeStreamTransport({ readable: accepted, writable: accepted }, "server");
    expect(methods()).toEqual(before);
    expect(Object.getOwnPropertyNames(accepted)).toEqual(names);
  });

  it("ends with the error of a piece that could not be sent", async () => {
    const { dialled, accepted } = await connected("tls");
    const bytes = soleReader(accepted);
    const closed = new Promise((resolve) => {
      bytes.attach({ onData() {}, onDrain() {}, onEnd() {}, onClosed: resolve });
    });
    expect(bytes.write(Buffer.alloc(16_000_000))).toBe(false);
    dialled.destroy();
    await closed;
    expect(bytes.write(Buffer.alloc(1))).toBe(true);
  });
});
