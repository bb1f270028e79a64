// Paths on which a server falls silent although it, or another, could be reached in another way.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { Connection, Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, type ConnectOptions, type DevCertificate, devCertificate, serve, type Server } from "@quicrpc/node";
import type { QuicSession } from "@quicrpc/quic";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { isPortProbe } from "../../quic/test/harness.js";
import { failure } from "../../../test/behaviour/tools.js";
import { trustOf } from "./trust.js";

const service = { name: "test.v1.Silent", id: 7103 };
const text = uncheckedCodec<string>();
const name = defineMethod(service, "unary", "name", { id: 1, output: text });
const never = defineMethod(service, "unary", "never", { id: 2 });

/** From the moment when packets are lost. The idle timeout is 30 s. */
const SOON_MS = 15_000;

/**
 * A relay that leads each flow, the packets of one source port, to the server that was in use when the flow began, as NATs and balancers do. It drops
 * the packets of flows to servers that are gone.
 */
class PinningRelay {
  /** Port of the server that new flows are led to; undefined: all packets are lost. */
  server: number | undefined;
  /** Source ports whose packets began no flow, because there was no server. */
  readonly refused: Set<number> = new Set();
  private readonly gone: Set<number> = new Set();
  private readonly flows: Map<number, { readonly server: number; readonly socket: Socket }> = new Map();
  private readonly front: Socket = createSocket("udp4");

  constructor(server: number) {
    this.server = server;
  }

  async start(): Promise<number> {
    await once(this.front.bind(0, "127.0.0.1"), "listening");
    this.front.on("message", (packet, { port }) => this.forward(packet, port));
    onTestFinished(() => {
      this.front.close();
      for (const { socket } of this.flows.values()) socket.close();
    });
    return this.front.address().port;
  }

  /** Loses the packets of the flows there are, and leads new ones to another server. */
  move(server: number | undefined): void {
    for (const flow of this.flows.values()) this.gone.add(flow.server);
    this.server = server;
    if (server !== undefined) this.gone.delete(server);
  }

  private forward(packet: Buffer, port: number): void {
    if (isPortProbe(packet)) return;
    let flow = this.flows.get(port);
    if (flow === undefined) {
      if (this.server === undefined) {
        this.refused.add(port);
        return;
      }
      const socket = createSocket("udp4").bind(0, "127.0.0.1");
      const { server } = this;
      socket.on("message", (answer) => {
        if (!this.gone.has(server)) this.front.send(answer, port, "127.0.0.1");
      });
      flow = { server, socket };
      this.flows.set(port, flow);
    }
    if (!this.gone.has(flow.server)) flow.socket.send(packet, flow.server, "127.0.0.1");
  }
}

describe.each(["quic", "https"] as const)("a silent server over %s", (scheme) => {
  let certificate: DevCertificate;
  beforeEach(async () => {
    certificate = await devCertificate();
  });

  async function namedServer(
    ownName: string,
    listen: readonly string[] = [`${scheme}://127.0.0.1:0`],
  ): Promise<Server> {
    const handlers = { name: () => ownName, never: () => new Promise<undefined>(() => {}) };
    const routers = [createRouter({ name, never }, handlers)];
    const server = await serve({ listen: [...listen], tls: certificate, routers });
    onTestFinished(() => void server.close());
    return server;
  }

  async function connected(port: number, options: ConnectOptions = {}): Promise<Connection<Session<QuicSession>>> {
    const trust = trustOf(`${scheme}:`, certificate);
    const connection = await connect(`${scheme}://127.0.0.1:${port}/`, { ...trust, ...options });
    onTestFinished(() => void connection.close());
    return connection as Connection<Session<QuicSession>>;
  }

  it("whose relay pins flows is found again from another port, and its calls fail instead of hanging", async () => {
    const [first, second] = await Promise.all([namedServer("first"), namedServer("second")]);
    const relay = new PinningRelay(first.address.port);
    const connection = await connected(await relay.start());
    expect(await connection.unary(name, undefined)).toBe("first");
    const hanging = failure(connection.unary(never, undefined));
    const moved = performance.now();
    relay.move(second.address.port);
    const { session } = connection;
    await vi.waitUntil(() => connection.session !== undefined && connection.session !== session, { timeout: SOON_MS });
    expect(await connection.unary(name, undefined)).toBe("second");
    expect(await hanging).toMatchObject({ code: "unavailable", refused: false });
    expect(performance.now() - moved).toBeLessThan(SOON_MS);
  });

  it("whose calls finish on its session when it is only cut off for a while", async () => {
    const server = await namedServer("only");
    const relay = new PinningRelay(server.address.port);
    const connection = await connected(await relay.start());
    await connection.unary(name, undefined);
    relay.move(undefined);
    const answer = connection.unary(name, undefined);
    // Several pings were not answered, and an attempt from another port has begun.
    await vi.waitUntil(() => relay.refused.size > 0, { timeout: SOON_MS });
    relay.move(server.address.port);
    expect(await answer).toBe("only");
  });

  it("is reached by the fallback when UDP is blocked, and over UDP again once that works", async () => {
    const server = await namedServer("both", [`${scheme}://127.0.0.1:0`, "wss://127.0.0.1:0"]);
    const [, fallback = ""] = server.urls;
    const relay = new PinningRelay(server.address.port);
    const connection = await connected(await relay.start(), { fallback: { url: fallback, retry: { initialMs: 200 } } });
    expect(await connection.unary(name, undefined)).toBe("both");
    const isOverUdp = (): boolean => "watchSilence" in (connection.session?.transport ?? {});
    expect(isOverUdp()).toBe(true);
    relay.move(undefined);
    const hanging = failure(connection.unary(never, undefined));
    await vi.waitUntil(() => connection.session !== undefined && !isOverUdp(), { timeout: SOON_MS });
    expect(await connection.unary(name, undefined)).toBe("both");
    expect(await hanging).toMatchObject({ code: "unavailable", refused: false });
    const over = connection.session;
    relay.move(server.address.port);
    await vi.waitUntil(isOverUdp, { timeout: SOON_MS });
    expect(await connection.unary(name, undefined)).toBe("both");
    // Nothing is left on the fallback, so it ends.
    expect(await over?.closed).toMatchObject({ closeCode: 0 });
  });
});
