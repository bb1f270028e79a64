// Paths on which a server falls silent although it, or another, could be reached in another way.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { type DevCertificate, devCertificate, serve, type Server } from "@quicrpc/node";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { failure } from "../../../test/behaviour/tools.js";
import { PinningRelay } from "./pinning-relay.js";
import { connectedTo } from "./trust.js";

const service = { name: "test.v1.Silent", id: 7103 };
const text = uncheckedCodec<string>();
const name = defineMethod(service, "unary", "name", { id: 1, output: text });
const never = defineMethod(service, "unary", "never", { id: 2 });

/** From the moment when packets are lost. The idle timeout is 30 s. */
const SOON_MS = 15_000;

function openRelay(server: number): PinningRelay {
  const relay = new PinningRelay(server);
  onTestFinished(() => relay.close());
  return relay;
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

  it("whose relay pins flows is found again from another port, and its calls fail instead of hanging", async () => {
    const [first, second] = await Promise.all([namedServer("first"), namedServer("second")]);
    const relay = openRelay(first.address.port);
    const connection = await connectedTo(scheme, certificate, await relay.start());
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
    const relay = openRelay(server.address.port);
    const connection = await connectedTo(scheme, certificate, await relay.start());
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
    const relay = openRelay(server.address.port);
    const connection = await connectedTo(scheme, certificate, await relay.start(), {
      fallback: { url: fallback, retry: { initialMs: 200 } },
    });
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
