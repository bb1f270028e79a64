import { createProofKeys, prover } from "@quicrpc/core/proof";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BrowserConnection, connect, type ConnectOptions, dial, type HttpProvider } from "../dist/index.js";
import { methods, Network, pass } from "./network.js";

const URL_OF_SERVER = "https://rpc.test:4433/api";
const ATTEMPT = `webtransport ${URL_OF_SERVER}`;
const proof = prover(await createProofKeys());
let network: Network;
let connection: BrowserConnection;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  // Each wait is as long as its backoff may make it.
  vi.spyOn(Math, "random").mockReturnValue(1);
  network = new Network();
});
afterEach(async () => {
  await Promise.all([connection.close(), pass(5000)]);
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Connects in no time where nothing is silent, and else in 1.5 s. */
async function connected(options: ConnectOptions = {}): Promise<void> {
  const connecting = connect(URL_OF_SERVER, options);
  await pass(network.webTransport === "silence" ? 1500 : 0);
  connection = await connecting;
}

/** How often WebTransport was tried. */
function attempts(): number {
  return network.log.filter((line) => line === ATTEMPT).length;
}

describe("a connection that fell back to a WebSocket", () => {
  it("tries WebTransport again, ever less often, and says what became of it", async () => {
    network.given("refuse");
    await connected({ fallback: { retry: { maxMs: 15_000 } } });
    const { session } = connection;
    let made = 1;
    for (const ms of [5000, 10_000, 15_000, 15_000]) {
      expect(connection.transport?.retryAt).toBe(Date.now() + ms);
      await pass(ms - 1);
      expect(attempts()).toBe(made);
      await pass(1);
      expect(attempts()).toBe(++made);
      expect(connection.transport).toEqual({
        kind: "websocket",
        reason: "tried again: WebTransport failed: Opening handshake failed.",
        retryAt: expect.any(Number),
      });
    }
    expect(connection.session).toBe(session);
    expect(connection.state.status).toBe("ready");
  });

  it("moves over between calls: those in progress finish where they are", async () => {
    network.given("silence");
    await connected();
    const states: string[] = [];
    void (async () => {
      for await (const { status } of connection.states()) states.push(status);
    })();
    const fallback = connection.session;
    const inProgress = connection.unary(methods.wait, "");
    network.given("accept");
    await pass(5000);
    expect(connection.session).not.toBe(fallback);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    expect(network.sessions).toHaveLength(2);
    expect(await connection.unary(methods.echo, "moved")).toBe("moved");
    // However long they take.
    await pass(3_600_000);
    network.answer("finished");
    expect(await inProgress).toBe("finished");
    expect(await fallback?.closed).toEqual({ closeCode: 0, reason: "", error: undefined });
    expect(states).toEqual(["ready", "ready"]);
    expect(attempts()).toBe(2);
  });

  it("stays where it is when a session over WebTransport carries nothing", async () => {
    network.given("refuse");
    await connected();
    const { session } = connection;
    network.given("mute");
    await pass(5000);
    expect(attempts()).toBe(2);
    expect(await connection.unary(methods.echo, "meanwhile")).toBe("meanwhile");
    expect(connection.transport?.retryAt).toBeUndefined();
    await pass(10_000);
    expect(connection.session).toBe(session);
    expect(connection.transport).toMatchObject({
      kind: "websocket",
      reason: "tried again: no session within 10000 ms",
    });
  });

  it("leaves a session over WebTransport that opens and carries nothing within 3 s, and tries again later", async () => {
    network.given("mute");
    await connected();
    expect(connection.transport?.kind).toBe("webtransport");
    const call = connection.unary(methods.echo, "into the void").catch((error: Error) => error);
    await pass(3000);
    expect(await call).toMatchObject({ code: "unavailable" });
    const waiting = connection.unary(methods.echo, "meanwhile");
    await pass(100);
    expect(await waiting).toBe("meanwhile");
    expect(connection.transport).toEqual({
      kind: "websocket",
      reason: "WebTransport opened a session that carried nothing",
      retryAt: expect.any(Number),
    });
    expect(attempts()).toBe(1);
    network.given("accept");
    await pass(5000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("tries both again where WebTransport carries nothing and there is no WebSocket", async () => {
    network.given("mute", "refuse");
    await connected();
    await pass(3100);
    expect(connection.state).toMatchObject({
      status: "connecting",
      error: { message: expect.stringMatching(/: WebSocket failed: [^;]*$/) },
    });
    network.given("accept", "refuse");
    await pass(1000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("tries at once when the network is back", async () => {
    network.given("refuse");
    await connected();
    await pass(20_000);
    network.given("accept");
    network.page.dispatchEvent(new Event("online"));
    await pass(0);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("does not blame UDP for an outage, and is back on WebTransport after it", async () => {
    network.given("accept");
    await connected();
    network.given("silence", "refuse");
    void network.sessions[0]?.close({ closeCode: 9, reason: "the server went away" });
    await pass(12_000);
    expect(connection.state.status).toBe("connecting");
    // Back, but for the attempt of WebTransport that is under way.
    network.webSocket = "accept";
    network.install();
    await pass(20_000);
    expect(connection.transport).toMatchObject({
      kind: "websocket",
      reason: expect.stringContaining("did not answer within 1500 ms, though it did before"),
    });
    network.given("accept");
    await pass(60_000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    expect(await connection.unary(methods.echo, "as before")).toBe("as before");
  });

  it("starts with the shortest wait again after WebTransport has worked for a minute", async () => {
    network.given("refuse");
    await connected({ advanced: { backoff: { initialMs: 100, factor: 1 } } });
    await pass(40_000);
    network.given("accept");
    await pass(60_000);
    expect(connection.transport?.kind).toBe("webtransport");
    const lose = async (): Promise<void> => {
      network.given("refuse");
      void network.sessions.at(-1)?.close({ closeCode: 9, reason: "lost" });
      await pass(100);
      expect(connection.transport?.kind).toBe("websocket");
    };
    await pass(60_000);
    await lose();
    expect(connection.transport?.retryAt).toBe(Date.now() + 5000);
    network.given("accept");
    await pass(5000);
    await lose();
    expect(connection.transport?.retryAt).toBe(Date.now() + 10_000);
  });

  it("gives an attempt up when the WebSocket is lost meanwhile, and when it is closed", async () => {
    network.given("refuse");
    await connected();
    network.given("silence", "refuse");
    await pass(5000);
    void network.sessions[0]?.close({ closeCode: 9, reason: "lost" });
    await pass(0);
    expect(network.log.at(-1)).toBe("webtransport given up");
    network.given("accept");
    await pass(1000);
    expect(connection.transport?.kind).toBe("webtransport");
  });

  it.each([
    ["browsers without WebTransport", "missing", {}],
    ["`retry: false`", "refuse", { fallback: { retry: false } }],
  ] as const)("stays for as long as the session does: %s", async (_, answer, options) => {
    network.given(answer);
    await connected(options);
    expect(connection.transport).toMatchObject({ retryAt: undefined });
    const { length } = network.log;
    await pass(3_600_000);
    expect(network.log).toHaveLength(length);
  });
});

describe("what a browser remembers of the way to a server", () => {
  /** Another page of the same origin. */
  async function anotherPage(): Promise<void> {
    await Promise.all([connection.close(), pass(5000)]);
    network.log.length = 0;
    const connecting = connect(URL_OF_SERVER);
    await pass(0);
    connection = await connecting;
  }

  it.each([
    ["silence", "WebTransport did not answer within 1500 ms: UDP may be blocked", 0],
    ["mute", "WebTransport opened a session that carried nothing", 3200],
  ] as const)("another page takes the fallback at once: %s", async (answer, reason, ms) => {
    network.given(answer);
    await connected();
    await pass(ms);
    await anotherPage();
    expect(attempts()).toBe(0);
    expect(connection.transport).toEqual({ kind: "websocket", reason, retryAt: Date.now() + 5000 });
    network.given("accept");
    await pass(5000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    await anotherPage();
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("is forgotten after ten minutes, and with the network", async () => {
    network.given("silence");
    await connected({ fallback: { retry: false } });
    expect(network.stored.size).toBe(1);
    network.page.dispatchEvent(new Event("online"));
    await pass(0);
    expect(network.stored.size).toBe(0);
    await Promise.all([connection.close(), pass(5000)]);
    await connected({ fallback: { retry: false } });
    await pass(600_000);
    network.given("accept");
    await anotherPage();
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("is nothing where WebTransport is refused at once, where the fallback fails too, and with `rememberMs: 0`", async () => {
    network.given("refuse");
    await connected();
    await Promise.all([connection.close(), pass(5000)]);
    network.given("silence");
    await connected({ fallback: { rememberMs: 0 } });
    expect(network.stored.size).toBe(0);
    await Promise.all([connection.close(), pass(5000)]);
    await connected();
    expect(network.stored.size).toBe(1);
    await Promise.all([connection.close(), pass(5000)]);
    network.given("accept", "refuse");
    const connecting = connect(URL_OF_SERVER);
    await pass(1000);
    connection = await connecting;
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
  });

  it("takes the fallback when sessions over WebTransport are lost within a minute, twice in a row", async () => {
    network.given("accept");
    await connected();
    for (const kind of ["webtransport", "websocket"]) {
      await pass(30_000);
      network.lose();
      await pass(1000);
      expect(connection.transport?.kind).toBe(kind);
    }
    expect(connection.transport).toMatchObject({
      reason: "WebTransport's sessions were lost within a minute, 2 times in a row",
      retryAt: expect.any(Number),
    });
    expect(network.stored.size).toBe(1);
  });

  it("does not blame WebTransport for networks that change within a minute, again and again", async () => {
    network.given("accept");
    await connected();
    for (let change = 1; change <= 3; change++) {
      await pass(10_000);
      network.stall();
      for (const type of ["offline", "online"]) network.page.dispatchEvent(new Event(type));
      await pass(3500);
      expect(network.sessions).toHaveLength(1 + change);
      expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    }
    expect(network.stored.size).toBe(0);
  });

  it("takes the fallback when a session over WebTransport stops carrying anything, unless the page is hidden", async () => {
    network.given("accept");
    await connected();
    await pass(1000);
    network.stall();
    vi.stubGlobal("document", { visibilityState: "hidden" });
    await pass(20_000);
    expect(connection.state.status).toBe("ready");
    vi.stubGlobal("document", { visibilityState: "visible" });
    // The rest of the second wait, the time for an answer, and the next attempt to connect.
    await pass(10_000 + 3000 + 500);
    expect(connection.transport).toMatchObject({
      kind: "websocket",
      reason: "WebTransport's session stopped carrying anything",
    });
    expect(await connection.unary(methods.echo, "over it")).toBe("over it");
  });
});

describe("a page that may also call over HTTP", () => {
  const NO_UDP = "WebTransport did not answer within 1500 ms: UDP may be blocked";
  const REFUSED = "WebSocket failed: wss://rpc.test:4433 refused the WebSocket (code 1006)";

  async function open(options: ConnectOptions["fallback"] = {}, ms = 3000): Promise<void> {
    const connecting = connect(URL_OF_SERVER, {
      fallback: { http: network.httpProvider, ...options },
      credentials: "token",
    });
    await pass(ms);
    connection = await connecting;
  }

  it("does so where neither of the others works, and says why", async () => {
    network.given("silence", "refuse");
    await open();
    expect(connection.transport).toEqual({
      kind: "http",
      reason: `${NO_UDP}; ${REFUSED}`,
      retryAt: expect.any(Number),
    });
    expect(network.log).toContain(`http ${URL_OF_SERVER}/`);
    expect(network.httpSettings).toEqual({ credentials: "token" });
    expect(await connection.unary(methods.echo, "over it")).toBe("over it");
    await expect(connection.session?.ping()).resolves.toBeGreaterThanOrEqual(0);
  });

  it("loads it then, and not before", async () => {
    const http = vi.fn<() => Promise<HttpProvider>>(async () => network.httpProvider);
    network.given("accept");
    await open({ http, httpUrl: "/elsewhere" }, 0);
    expect(http).not.toHaveBeenCalled();
    await Promise.all([connection.close(), pass(5000)]);
    network.given("silence", "silence");
    await open({ http, httpUrl: "/elsewhere" });
    expect(http).toHaveBeenCalledTimes(1);
    expect(network.log).toContain("http https://rpc.test:4433/elsewhere/");
    expect(connection.transport).toMatchObject({ reason: `${NO_UDP}; WebSocket did not answer within 1500 ms` });
  });

  it("tries the better ones again, and takes each that works", async () => {
    network.given("silence", "refuse");
    await open();
    const inProgress = connection.unary(methods.wait, "");
    network.given("refuse", "refuse");
    await pass(5000);
    expect(connection.transport).toMatchObject({
      kind: "http",
      reason: `tried again: WebTransport failed: Opening handshake failed.; ${REFUSED}`,
    });
    network.given("refuse", "accept");
    await pass(10_000);
    expect(connection.transport).toMatchObject({
      kind: "websocket",
      reason: "WebTransport failed: Opening handshake failed.",
    });
    network.given("accept");
    await pass(20_000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    expect(network.sessions).toHaveLength(3);
    network.answer("finished");
    expect(await inProgress).toBe("finished");
  });

  it("takes it at once in the next page where both others were silent, and WebTransport again when they work", async () => {
    network.given("silence", "silence");
    await open();
    await Promise.all([connection.close(), pass(5000)]);
    network.log.length = 0;
    await open({}, 0);
    expect(network.log).toEqual([`http ${URL_OF_SERVER}/`]);
    expect(connection.transport).toEqual({
      kind: "http",
      reason: `${NO_UDP}; WebSocket did not answer within 1500 ms`,
      retryAt: Date.now() + 5000,
    });
    network.given("accept");
    await pass(5000);
    expect(connection.transport).toEqual({ kind: "webtransport", reason: undefined });
    expect(network.stored.size).toBe(0);
  });

  it("says what became of all three where none works, and tries them all again", async () => {
    network.given("refuse", "refuse");
    network.http = "refuse";
    const connecting = connect(URL_OF_SERVER, { fallback: { http: network.httpProvider } }).catch(
      (error: unknown) => error,
    );
    await pass(10_000);
    const text = `WebTransport failed: Opening handshake failed.; ${REFUSED}; HTTP failed: Failed to fetch`;
    expect(await connecting).toMatchObject({ code: "ERR_UNREACHABLE", message: expect.stringContaining(text) });
    network.http = "accept";
    await open();
    expect(connection.transport?.kind).toBe("http");
  });

  describe.each([
    ["proof", { proof }, "in which a client proves its key: leave it out, or connect by a transport with sessions"],
    ["metadata", { metadata: { tenant: "north" } }, "whose greeting carries it: give each call its metadata"],
  ])("but has the option %s, which takes a session", (option, options, rest) => {
    const http = vi.fn<() => Promise<HttpProvider>>(async () => network.httpProvider);
    const fallback = { http, httpUrl: "https://rpc.test/calls?key=secret" };
    const text = `; ${REFUSED}; HTTP failed: not attempted, because the option ${option} cannot travel to https://rpc.test/calls by HTTP, which has no sessions, ${rest}`;

    it.each([
      ["connect", "ERR_UNREACHABLE", "refuse"],
      ["dial", "ERR_UNREACHABLE", "refuse"],
      ["connect", "ETIMEDOUT", "silence"],
    ] as const)("does not try it, and %s says so (%s)", async (function_, code, webTransport) => {
      network.given(webTransport, "refuse");
      const reach = function_ === "dial" ? dial : connect;
      const connecting = reach(URL_OF_SERVER, { ...options, fallback }).catch((error: unknown) => error);
      await pass(10_000);
      const error = (await connecting) as Error;
      expect(error).toMatchObject({ name: "TransportError", code });
      expect(error.message).toContain(text);
      expect(error.message).not.toContain("secret");
      expect(http).not.toHaveBeenCalled();
      network.given("accept");
      await connected();
    });

    it("takes the best of the others in the next page, whatever another page has remembered", async () => {
      network.given("silence", "silence");
      await open();
      await Promise.all([connection.close(), pass(5000)]);
      network.log.length = 0;
      network.given("refuse", "accept");
      await connected({ ...options, fallback, reconnect: false });
      expect(network.log).toEqual(["websocket wss://rpc.test:4433/api"]);
      expect(http).not.toHaveBeenCalled();
    });
  });

  it("closes a client that is silent when the time is over", async () => {
    network.given("refuse", "refuse");
    network.http = "silence";
    const connecting = connect(URL_OF_SERVER, { reconnect: false, fallback: { http: network.httpProvider } }).catch(
      (error: unknown) => error,
    );
    await pass(10_000);
    expect(await connecting).toMatchObject({ code: "ETIMEDOUT" });
    expect(await network.sessions[0]?.closed).toMatchObject({ closeCode: 0 });
    network.http = "accept";
    await open();
  });
});
