// One option for pings, whatever the transport.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { freePort } from "../../../scripts/free-port.mjs";
import { selectivePath } from "../../quic/test/harness.js";
import type { Connection, Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import {
  connect,
  type DevCertificate,
  devCertificate,
  dial,
  serve,
  type Server,
  type TransportProvider,
} from "@quicrpc/node";
import type { QuicSession } from "@quicrpc/quic";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { connectedTo } from "./trust.js";

/** Settings of the connections that are dialled or listened for, over a transport that makes none. */
const asked: unknown[] = [];
const provider: TransportProvider = {
  name: "a test",
  schemes: ["asked:"],
  capabilities: { sessions: true, streams: true },
  dial: async (_url, { transport }) => {
    asked.push(transport);
    throw Object.assign(new Error("there is none"), { permanent: true });
  },
  listen: async (_target, { transport }) => {
    asked.push(transport);
    throw new Error("there is none");
  },
};
const transports = [provider];

describe.each([
  ["dial", (options: object) => dial("asked://host", { advanced: { transports, ...options } })],
  ["connect", (options: object) => connect("asked://host", { advanced: { transports, ...options } })],
  [
    "serve",
    (options: object) => serve({ listen: ["asked://host"], routers: [], advanced: { transports, ...options } }),
  ],
])("keepAlive of %s", (name, attempt) => {
  const settings = async (options: object): Promise<unknown> => {
    await expect(attempt(options)).rejects.toThrow("there is none");
    return asked.pop();
  };

  it("sets the pings and the idle timeout of QUIC", async () => {
    const keepAlive = { intervalMs: 100, timeoutMs: 200 };
    expect(await settings({ keepAlive })).toMatchObject({ keepAliveIntervalMs: 100, idleTimeoutMs: 300 });
    expect(await settings({ keepAlive: {} })).toMatchObject({ keepAliveIntervalMs: 15_000, idleTimeoutMs: 35_000 });
    const transport = { idleTimeoutMs: 1000 };
    expect(await settings({ keepAlive, transport })).toMatchObject({ keepAliveIntervalMs: 100, idleTimeoutMs: 1000 });
  });

  it("switches them off; without it only dialled sessions ping", async () => {
    expect(await settings({ keepAlive: false })).toMatchObject({ keepAliveIntervalMs: 0 });
    const transport = { idleTimeoutMs: 1000 };
    expect(await settings({ transport })).toMatchObject({
      keepAliveIntervalMs: name === "serve" ? 0 : 15_000,
      idleTimeoutMs: 1000,
    });
  });
});

const service = { name: "test.v1.Polled", id: 7102 };
const poll = defineMethod(service, "unary", "poll", { id: 1, output: uncheckedCodec<number>() });

/** A session of either kind over QUIC, whose server ends it after this time without packets. */
const IDLE_MS = 1000;

describe.each(["quic", "https"] as const)("an idle session over %s", (scheme) => {
  /** Calls that were served. */
  let polls: number;
  let certificate: DevCertificate;
  beforeEach(async () => {
    polls = 0;
    certificate = await devCertificate();
  });

  async function polledServer(port = 0, idleTimeoutMs = IDLE_MS): Promise<Server> {
    const server = await serve({
      listen: [`${scheme}://127.0.0.1:${port}`],
      tls: certificate,
      routers: [createRouter({ poll }, { poll: () => ++polls })],
      advanced: { transport: { idleTimeoutMs } },
    });
    onTestFinished(() => void server.close());
    return server;
  }

  /** Calls, and waits until the engine knows that no call waits: it asks if nothing has arrived for a while. */
  async function pollOnce(connection: Connection<Session<QuicSession>>): Promise<void> {
    expect(await connection.unary(poll, undefined)).toBe(1);
    const transport: unknown = connection.session?.transport;
    const asked = vi.spyOn(transport as { receiveSilence(unanswered: number): void }, "receiveSilence");
    await vi.waitUntil(() => asked.mock.calls.length > 0, { timeout: 10_000 });
  }

  it("pings its server within the idle timeout of either side", async () => {
    const server = await polledServer();
    const connection = await connectedTo(scheme, certificate, server.address.port);
    await connection.unary(poll, undefined);
    const session = connection.session as Session<QuicSession>;
    const { sentUdpDatagrams: before } = session.transport.stats();
    // As many pings and acknowledgements as twice the idle timeout has.
    const pinged = vi.waitUntil(() => session.transport.stats().sentUdpDatagrams >= before + 6, { timeout: 10_000 });
    expect(await Promise.race([session.closed, pinged])).toBe(true);
    expect(connection.session).toBe(session);
  });

  it("ends without pings, and a call that was made before that was known is made again", async () => {
    const server = await polledServer();
    const connection = await connectedTo(scheme, certificate, server.address.port, { advanced: { keepAlive: false } });
    await pollOnce(connection);
    const { session } = connection;
    // Neither side has run since: both idle timeouts are over, and no timer has fired.
    block(IDLE_MS * 1.5);
    expect(connection.session).toBe(session);
    expect(await connection.unary(poll, undefined)).toBe(2);
    expect(connection.session).not.toBe(session);
  });

  it.each([
    ["is received at once", 0],
    // Longer than the client waits for an acknowledgement before it sends a packet again.
    ["arrives while the client's thread is blocked", 500],
  ])("whose server was restarted: the next call is made again, if the reset %s", async (_, blockedMs) => {
    const port = await freePort();
    const server = await polledServer(port, 30_000);
    let last: Buffer | undefined;
    let reset: Buffer | undefined;
    let isCut = false;
    const path = await selectivePath(
      port,
      (packet) => {
        last = packet;
        if (reset === undefined) return true;
        block(blockedMs);
        path.answer(reset);
        reset = undefined;
        isCut = false;
        return false;
      },
      () => !isCut,
    );
    onTestFinished(() => path.close());
    const connection = await connectedTo(scheme, certificate, path.port, { advanced: { keepAlive: false } });
    await pollOnce(connection);
    const { session } = connection;
    // The server's farewell is lost: only a stateless reset tells the client.
    isCut = true;
    await server.close();
    await polledServer(port, 30_000);
    reset = await answerTo(last as Buffer, port);
    expect(connection.session).toBe(session);
    expect(await connection.unary(poll, undefined)).toBe(2);
    expect(connection.session).not.toBe(session);
  });
});

/** Sends a packet from another port, and returns the server's answer. */
async function answerTo(packet: Buffer, port: number): Promise<Buffer> {
  const socket = createSocket("udp4");
  socket.send(packet, port, "127.0.0.1");
  const [answer] = await once(socket, "message");
  socket.close();
  return answer as Buffer;
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
