import { getEventListeners } from "node:events";
import type { Session } from "@quicrpc/core";
import { createPool } from "@quicrpc/pool";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ForeignClient } from "@quicrpc/core/transport";
import {
  type BrowserConnection,
  connect,
  type ConnectOptions,
  connectWebTransport,
  dial,
  type HttpProvider,
} from "../dist/index.js";
import { methods, Network, pass } from "./network.js";

const URL_OF_SERVER = "https://rpc.test:4433/api";
const open: { close(): Promise<unknown> }[] = [];
let network: Network;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  network = new Network();
});
afterEach(async () => {
  for (const one of open.splice(0)) await Promise.all([one.close(), pass(5000)]);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function connected(options?: ConnectOptions): Promise<BrowserConnection> {
  const connecting = connect(URL_OF_SERVER, options);
  await pass(10_000);
  const connection = await connecting;
  open.push(connection);
  return connection;
}

/** The error of an attempt to connect, and the milliseconds that it took. */
async function failure(connecting: Promise<unknown>): Promise<{ error: Error; ms: number }> {
  const since = Date.now();
  const failed = connecting.then(
    () => {
      throw new Error("it went well");
    },
    (error: Error) => ({ error, ms: Date.now() - since }),
  );
  await pass(60_000);
  return failed;
}

describe("connect", () => {
  it("takes WebTransport where it answers, and tries nothing else", async () => {
    network.given("accept");
    const connection = await connected();
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    expect(await connection.unary(methods.echo, "there")).toBe("there");
    expect(network.log).toEqual([`webtransport ${URL_OF_SERVER}`]);
    expect(network.offeredProtocols).toEqual(["quicrpc.v1"]);
  });

  it.each([
    ["missing", "WebTransport failed: this browser does not support it, or the page is not a secure context"],
    ["refuse", "WebTransport failed: Opening handshake failed."],
  ] as const)("falls back at once where WebTransport is: %s", async (answer, reason) => {
    network.given(answer);
    const since = Date.now();
    const connecting = connect(URL_OF_SERVER);
    await pass(0);
    const connection = await connecting;
    open.push(connection);
    expect(Date.now() - since).toBe(0);
    const retryAt = answer === "missing" ? {} : { retryAt: expect.any(Number) };
    expect(connection.transport).toEqual({ kind: "websocket", reason, ...retryAt });
    expect(await connection.unary(methods.echo, "there")).toBe("there");
    expect(network.log.at(-1)).toBe("websocket wss://rpc.test:4433/api");
    expect(network.offeredProtocols).toEqual(["quicrpc.v1"]);
  });

  it("tries a WebSocket as well after 1.5 s of silence, and gives the silent one up", async () => {
    network.given("silence");
    const connecting = connect(URL_OF_SERVER);
    await pass(1499);
    expect(network.log).toEqual([`webtransport ${URL_OF_SERVER}`]);
    await pass(1);
    const connection = await connecting;
    open.push(connection);
    expect(connection.transport).toEqual({
      kind: "websocket",
      reason: "WebTransport did not answer within 1500 ms: UDP may be blocked",
      retryAt: expect.any(Number),
    });
    expect(network.log.slice(1)).toEqual(["websocket wss://rpc.test:4433/api", "webtransport given up"]);
  });

  it("goes to the fallback's own URL, after its own time", async () => {
    network.given("silence");
    const connecting = connect(URL_OF_SERVER, { fallback: { url: "ws://other.test/ws", afterMs: 100 } });
    await pass(100);
    open.push(await connecting);
    expect(network.log).toContain("websocket ws://other.test/ws");
  });

  it("says what became of each transport", async () => {
    network.given("refuse", "refuse");
    const { error, ms } = await failure(connect(URL_OF_SERVER, { timeoutMs: 3000 }));
    expect(error).toMatchObject({ name: "TransportError", code: "ERR_UNREACHABLE", url: "https://rpc.test:4433/api" });
    expect(error).toHaveProperty("hint", expect.stringContaining("its certificate trusted"));
    expect(error.cause).toBeInstanceOf(AggregateError);
    expect(error.message).toBe(
      "cannot connect to https://rpc.test:4433/api: WebTransport failed: Opening handshake failed.; WebSocket failed: wss://rpc.test:4433 refused the WebSocket (code 1006)",
    );
    expect(ms).toBeLessThanOrEqual(3000);
  });

  it("says so if the browser reports a failed TLS handshake", async () => {
    network.refusalCode = 1015;
    network.given("refuse", "refuse");
    const { error } = await failure(connect(URL_OF_SERVER));
    expect(error.message).toContain("refused the WebSocket (code 1015: TLS failed: is its certificate trusted?)");
  });

  it("gives up in time where nothing answers, leaving no attempt behind", async () => {
    network.given("silence", "silence");
    const { error, ms } = await failure(connect(URL_OF_SERVER, { timeoutMs: 3000 }));
    expect(error).toMatchObject({ name: "TransportError", code: "ETIMEDOUT" });
    expect(error.message).toBe("cannot connect to https://rpc.test:4433/api: no session within 3000 ms");
    expect(ms).toBe(3000);
    expect(network.log.slice(2).toSorted()).toEqual(["websocket given up", "webtransport given up"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives up when the signal fires", async () => {
    network.given("silence", "silence");
    const controller = new AbortController();
    const failed = failure(connect(URL_OF_SERVER, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect((await failed).error.message).toBe("enough");
    expect(network.log).toContain("webtransport given up");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("uses no WebSocket with `fallback: false`, nor as connectWebTransport", async () => {
    network.given("refuse");
    for (const start of [
      () => connect(URL_OF_SERVER, { fallback: false, timeoutMs: 50 }),
      () => connectWebTransport(URL_OF_SERVER, { timeoutMs: 50 }),
    ]) {
      const { error } = await failure(start());
      expect(error).toMatchObject({ name: "TransportError", code: "ERR_UNREACHABLE" });
      expect(error.message).toContain(": WebTransport failed: Opening handshake failed.");
    }
    expect(network.log.filter((line) => line.startsWith("websocket"))).toEqual([]);
  });

  it("takes a WebSocket alone where the URL is of one, and comes back over it", async () => {
    network.given("accept");
    const connecting = connect("ws://rpc.test:8080/api");
    await pass(10_000);
    const connection = await connecting;
    open.push(connection);
    expect(connection.transport).toEqual({ kind: "websocket", reason: undefined });
    expect(await connection.unary(methods.echo, "there")).toBe("there");
    void network.sessions[0]?.close({ closeCode: 9, reason: "restart" });
    await pass(60_000);
    expect(await connection.unary(methods.echo, "again")).toBe("again");
    expect(network.log).toEqual(["websocket ws://rpc.test:8080/api", "websocket ws://rpc.test:8080/api"]);
    const hashes = { serverCertificateHashes: [] };
    for (const options of [hashes, { fallback: {} }]) {
      await expect(connect("wss://rpc.test", options)).rejects.toThrow("wss:// takes no transport, fallback or server");
    }
  });

  it("rejects a URL of another scheme", async () => {
    network.given("accept");
    await expect(connect("quic://rpc.test")).rejects.toThrow(TypeError);
  });
});

describe("a connection whose session cannot be made is closed", () => {
  const metadata = { much: "x".repeat(100_000) };
  const credentials = (): never => {
    throw new Error("no token");
  };
  it.each<[string, () => Promise<unknown>]>([
    ["connect, credentials", () => connect(URL_OF_SERVER, { credentials, timeoutMs: 50 })],
    ["connect, metadata", () => connect(URL_OF_SERVER, { timeoutMs: 50, advanced: { metadata } })],
    ["connectWebTransport, credentials", () => connectWebTransport(URL_OF_SERVER, { credentials, timeoutMs: 50 })],
    ["connectWebTransport, session", () => connectWebTransport(URL_OF_SERVER, { session: credentials, timeoutMs: 50 })],
    ["dial, metadata", () => dial(URL_OF_SERVER, { advanced: { metadata } })],
  ])("%s", async (_, start) => {
    network.given("accept");
    await failure(start());
    expect(network.sessions).not.toEqual([]);
    await Promise.all(network.sessions.map(async ({ closed }) => closed));
  });
});

describe("a page's connection", () => {
  it("heals, over whichever transport works then", async () => {
    network.given("accept");
    const connection = await connected();
    network.given("refuse");
    void network.sessions[0]?.close({ closeCode: 9, reason: "restart" });
    await pass(200);
    expect(await connection.unary(methods.echo, "again")).toBe("again");
    expect(connection.transport?.kind).toBe("websocket");
  });

  it("tries again at once when the network is back, rather than when the wait is over", async () => {
    network.given("accept");
    const connection = await connected();
    network.given("refuse", "refuse");
    void network.sessions[0]?.close({ closeCode: 9, reason: "gone" });
    await pass(60_000);
    expect(connection.state.status).toBe("connecting");
    network.given("accept");
    network.page.dispatchEvent(new Event("online"));
    await pass(0);
    expect(connection.state.status).toBe("ready");
  });

  it("replaces a session that no longer answers when the network or the page is back", async () => {
    network.given("accept");
    const connection = await connected();
    const { session } = connection;
    // Pings that never come back: all that is sent is lost.
    vi.spyOn(session as Session, "ping").mockReturnValue(new Promise(() => {}));
    for (const type of ["offline", "online"]) network.page.dispatchEvent(new Event(type));
    await pass(2999);
    expect(connection.session).toBe(session);
    await pass(200);
    expect(connection.session).not.toBe(session);
    expect(connection.state.status).toBe("ready");
  });

  it("keeps a session that answers", async () => {
    network.given("accept");
    const connection = await connected();
    const { session } = connection;
    for (const type of ["offline", "online", "visibilitychange"]) network.page.dispatchEvent(new Event(type));
    await pass(10_000);
    expect(connection.session).toBe(session);
  });

  it("closes its session when the page is left, dials nothing, and is back with the page", async () => {
    network.given("accept");
    const connection = await connected();
    const ended = network.sessions[0]?.closed;
    network.page.dispatchEvent(new Event("pagehide"));
    await pass(60_000);
    expect(await ended).toEqual({ closeCode: 0, reason: "the page was left", error: undefined });
    expect(network.sessions).toHaveLength(1);
    network.page.dispatchEvent(new Event("pageshow"));
    await pass(0);
    expect(connection.state.status).toBe("ready");
    expect(network.sessions).toHaveLength(2);
  });

  it("leaves nothing behind when it is closed", async () => {
    network.given("accept");
    const connection = await connected();
    const events = ["offline", "online", "pagehide", "pageshow", "visibilitychange"];
    const listeners = (): number[] => events.map((type) => getEventListeners(network.page, type).length);
    expect(listeners()).toEqual([1, 1, 1, 1, 1]);
    await Promise.all([connection.close(), pass(5000)]);
    expect(listeners()).toEqual([0, 0, 0, 0, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("dial", () => {
  it("closes a client of HTTP that is made after its time", async () => {
    network.given("refuse", "refuse");
    let give!: (client: ForeignClient) => void;
    const client = new Promise<ForeignClient>((resolve) => {
      give = resolve;
    });
    const http: HttpProvider = { name: "HTTP", dial: async () => client };
    const { error } = await failure(dial(URL_OF_SERVER, { fallback: { http }, timeoutMs: 100 }));
    expect(error).toMatchObject({ code: "ETIMEDOUT" });
    const close = vi.fn<ForeignClient["close"]>();
    give({ start: () => expect.unreachable(), closed: new Promise(() => {}), close } as unknown as ForeignClient);
    await pass(0);
    expect(close).toHaveBeenCalledOnce();
  });

  it("makes one session, which stays lost", async () => {
    network.given("refuse");
    const dialling = dial(URL_OF_SERVER);
    await pass(0);
    const session = await dialling;
    expect(await session.unary(methods.echo, "once")).toBe("once");
    void network.sessions[0]?.close({ closeCode: 9, reason: "restart" });
    await pass(60_000);
    expect(await session.closed).toMatchObject({ error: expect.any(Error) });
    expect(network.sessions).toHaveLength(1);
  });

  it("says what became of each transport, and takes a signal", async () => {
    network.given("refuse", "refuse");
    expect((await failure(dial(URL_OF_SERVER))).error.message).toContain("; WebSocket failed: ");
    network.given("silence", "silence");
    const controller = new AbortController();
    const failed = failure(dial(URL_OF_SERVER, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect((await failed).error.message).toBe("enough");
    await expect(dial("quic://rpc.test")).rejects.toThrow(TypeError);
  });

  it("makes the sessions of a pool", async () => {
    network.given("accept");
    const pool = createPool([URL_OF_SERVER, "https://other.test/api"], (url, signal) => dial(url, { signal }), {
      balance: "roundRobin",
    });
    open.push(pool);
    pool.connect();
    await pass(0);
    const answers = ["a", "b", "c"].map((text) => pool.unary(methods.echo, text));
    expect(await Promise.all(answers)).toEqual(["a", "b", "c"]);
    expect(network.log).toEqual([`webtransport ${URL_OF_SERVER}`, "webtransport https://other.test/api"]);
  });
});
