import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { connect as connectTcp, createServer, type ListenOptions, Server as NetServer, type Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { createRouter } from "@quicrpc/core/generated";
import { publicUrl } from "@quicrpc/core/internal";
import { refusalCode } from "@quicrpc/core/transport";
import { RpcError, type Session } from "@quicrpc/core";
import {
  connect,
  connectPool,
  devCertificate,
  dial,
  type DialOptions,
  drainOnSignal,
  type Peer,
  serve,
  type ServeOptions,
  type Server,
} from "@quicrpc/node";
import { describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { freePort } from "../../../scripts/free-port.mjs";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { trustOf } from "./trust.js";
import { closedAfterEach } from "../../../test/open.js";

const open = closedAfterEach();

const quic = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic://127.0.0.1:0"] : [];
const schemes = [...quic, "tcp://127.0.0.1:0", "tls://127.0.0.1:0", "ws://127.0.0.1:0/rpc", "wss://127.0.0.1:0/rpc"];
const { echo } = methods;
const service = createRouter({ echo }, { echo: (_, { connection }) => ({ text: JSON.stringify(connection) }) });

async function served(options: Partial<ServeOptions>): Promise<Server> {
  const server = await serve({ tls: await devCertificate(), routers: [service], ...options });
  open.push(server);
  return server;
}

async function dialled(url: string | undefined, options: DialOptions = {}): Promise<Session> {
  const { hash } = await devCertificate();
  const session = await dial(url ?? "none", { ...trustOf(url ?? "", { hash }), ...options });
  open.push(session);
  return session;
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it went well");
}

const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"));

/** Node's sockets with a path are named pipes on Windows. */
const unix = process.platform !== "win32";

describe("serve", () => {
  it("listens on several transports at once, and tells handlers and hooks who has connected", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket");
    const peers: Peer[] = [];
    const ended: string[] = [];
    let onEnded!: () => void;
    const allEnded = new Promise<void>((resolve) => {
      onEnded = resolve;
    });
    const server = await served({
      listen: [...schemes, ...(unix ? [`unix:${path}`] : [])],
      authenticate: ({ transport }) => transport,
      advanced: {
        onSession: (session, peer) => {
          peers.push(peer);
          void session.closed.then(() => {
            ended.push(peer.transport);
            if (ended.length === server.urls.length) onEnded();
          });
        },
      },
    });
    const sessions = await Promise.all(server.urls.map((url) => dialled(url)));
    const kinds = await Promise.all(sessions.map(async (session) => (await session.unary(echo, { text: "" })).text));
    const expected = [...quic.map(() => "quic"), "tcp", "tls", "websocket", "websocket", ...(unix ? ["unix"] : [])];
    expect(kinds).toEqual(expected.map((kind) => JSON.stringify(kind)));
    expect(server.sessions.size).toBe(expected.length);
    expect(peers.map(({ listener }) => listener).toSorted()).toEqual(server.urls.toSorted());
    expect(peers.find(({ transport }) => transport === "tcp")?.remoteAddress?.host).toBe("127.0.0.1");
    expect(peers.find(({ transport }) => transport === "websocket")?.path).toBe("/rpc");
    await Promise.all(sessions.map((session) => session.close()));
    await allEnded;
    expect(server.sessions.size).toBe(0);
  });

  it.each(schemes)(
    "calls over %s wait for authentication; what it returns is the handlers' connection",
    async (url) => {
      let admit!: () => void;
      const admitted = new Promise<void>((resolve) => {
        admit = resolve;
      });
      const server = await served({
        listen: [url],
        authenticate: async ({ transport }) => {
          await admitted;
          return { transport };
        },
      });
      const session = await dialled(server.urls[0]);
      const call = session.unary(echo, { text: "" });
      expect(server.sessions.size).toBe(0);
      admit();
      expect(JSON.parse((await call).text)).toHaveProperty("transport");
    },
  );

  it.each(schemes)("a session over %s that is refused fails its calls with the reason", async (url) => {
    const refused: string[] = [];
    const server = await served({
      listen: [url],
      authenticate: async () => {
        throw new RpcError("unauthenticated", "who are you?");
      },
      advanced: { onRefused: ({ message }, { transport }) => void refused.push(`${transport}: ${message}`) },
    });
    const session = await dialled(server.urls[0]);
    const error = await failure(session.unary(echo, { text: "" }));
    expect(error).toMatchObject({ code: "unauthenticated", message: "who are you?", refused: true });
    expect(await session.closed).toMatchObject({ closeCode: refusalCode("unauthenticated"), reason: "who are you?" });
    expect(refused).toHaveLength(1);
    expect(server.sessions.size).toBe(0);
  });

  it.each(schemes)("connect to %s rejects where the server refuses who it is, and names the server", async (listen) => {
    const server = await served({
      listen,
      authenticate: async ({ credentials }) => {
        if ((await credentials) !== "alice") throw new RpcError("unauthenticated", "who are you?");
      },
    });
    const [url = ""] = server.urls;
    const trust = trustOf(url, await devCertificate());
    expect(await failure(connect(url, { ...trust, credentials: "mallory" }))).toMatchObject({
      code: "unauthenticated",
      message: `${publicUrl(new URL(url))} refused the session: who are you?`,
      hint: expect.stringContaining("credentials"),
    });
    const pooled = connectPool([url], { ...trust, credentials: "mallory" });
    expect(await failure(pooled)).toMatchObject({ code: "unauthenticated", message: expect.stringContaining(url) });
    const connection = await connect(url, { ...trust, credentials: "alice" });
    open.push(connection);
    expect(connection.state).toEqual({ status: "ready" });
  });

  it("connect does not wait for longer than it is told to for a server that does not decide", async () => {
    const server = await served({ listen: "tcp://127.0.0.1:0", authenticate: () => new Promise(() => {}) });
    const connecting = connect(server.urls[0] ?? "", { credentials: "alice", timeoutMs: 50 });
    expect(await failure(connecting)).toMatchObject({ code: "unavailable", message: expect.stringContaining("50 ms") });
  });

  it("nothing that is printed of a server or a client has a private key or credentials", async () => {
    const tls = await devCertificate();
    const server = await served({
      listen: schemes,
      webSocket: true,
      http: true,
      authenticate: () => "somebody",
    });
    const all: unknown[] = [server, server.sessions];
    for (const url of server.urls) {
      const connection = await connect(url, { ...trustOf(url, tls), credentials: "a secret token" });
      open.push(connection);
      all.push(connection, connection.session);
    }
    const printed = inspect(all, { depth: 20, maxArrayLength: null, maxStringLength: null }) + JSON.stringify(server);
    expect(printed).toContain(server.urls[0]);
    expect(printed.includes("PRIVATE KEY")).toBe(false);
    expect(printed.includes("a secret token")).toBe(false);
  });

  it.runIf(hasIpv6)("localhost is both of its addresses, at one port", async () => {
    const server = await served({ listen: schemes.map((url) => url.replace("127.0.0.1", "localhost")) });
    expect(server.urls.map((url) => new URL(url).hostname)).toEqual(schemes.flatMap(() => ["127.0.0.1", "[::1]"]));
    for (const url of server.urls) expect(await (await dialled(url)).ping()).toBeGreaterThan(0);
    const ports = server.urls.map((url) => new URL(url).port);
    expect(new Set(ports).size).toBe(schemes.length);
    const [url = ""] = server.urls;
    const taken = served({ listen: url.replace("127.0.0.1", "localhost") });
    await expect(taken).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("authentication that takes too long refuses the session, and its signal fires", async () => {
    let fired!: (reason: unknown) => void;
    const reason = new Promise((resolve) => {
      fired = resolve;
    });
    const server = await served({
      listen: ["tcp://127.0.0.1:0"],
      limits: { maxHandshakeMs: 1 },
      authenticate: (_, signal) => {
        signal.addEventListener("abort", () => fired(signal.reason));
        return new Promise(() => {});
      },
    });
    const session = await dialled(server.urls[0]);
    expect(await failure(session.unary(echo, { text: "" }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await reason).toMatchObject({ message: expect.stringContaining("limits.maxHandshakeMs") });
  });

  it("with loadShedding, calls beyond it are refused as retryable, over all sessions", async () => {
    const witness = new Witness();
    const server = await served({
      listen: schemes,
      routers: [behaviourRouter(witness)],
      advanced: { loadShedding: { maxCalls: 1 } },
    });
    const sessions = await Promise.all(server.urls.map((url) => dialled(url)));
    const call = sessions[0]?.unary(methods.wait, { text: "a" });
    await witness.until("wait a");
    for (const session of sessions) {
      expect(await failure(session.unary(echo, { text: "" }))).toMatchObject({
        code: "unavailable",
        refused: true,
        message: expect.stringContaining("loadShedding.maxCalls"),
      });
    }
    witness.release.get("a")?.();
    expect(await call).toEqual({ text: "a" });
    for (const session of sessions) expect(await session.unary(echo, { text: "b" })).toEqual({ text: "b" });
  });

  it("disposed of, it is closed", async () => {
    let session: Session;
    {
      await using server = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [behaviourRouter(new Witness())] });
      session = await dialled(server.urls[0]);
      await session.unary(echo, { text: "" });
    }
    expect(await session.closed).toMatchObject({ closeCode: 0, error: undefined });
    expect(await failure(session.unary(echo, { text: "" }))).toMatchObject({ code: "unavailable" });
  });

  it.each([
    ["close", 0],
    ["drain", 0],
  ] as const)(
    "%s waits for notifications to its clients, and tells what was not acknowledged",
    async (way, expected) => {
      const witness = new Witness();
      const server = await served({
        listen: schemes,
        advanced: {
          onSession: (session) => {
            for (let i = 0; i < 20; i++) void session.notify(methods.note, { text: String(i) });
          },
        },
      });
      for (const url of server.urls) await dialled(url, { routers: [behaviourRouter(witness)] });
      while (server.sessions.size < schemes.length) await new Promise((resolve) => setImmediate(resolve));
      expect(await server[way]()).toEqual({ unacknowledged: expected });
      expect(witness.events).toHaveLength(20 * schemes.length);
    },
  );

  it("close does not wait for a client that stands still longer than it is to", async () => {
    const server = await served({
      listen: ["tcp://127.0.0.1:0"],
      advanced: {
        onSession: (session) => {
          for (let i = 0; i < 3; i++) void session.notify(methods.note, { text: String(i) });
        },
      },
    });
    const socket = connectTcp(server.address.port, "127.0.0.1");
    while (server.sessions.size === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await server.close({ timeoutMs: 20 })).toEqual({ unacknowledged: 3 });
    socket.destroy();
  });

  it("the headers and the origin of a WebSocket reach authenticate", async () => {
    const server = await served({
      listen: ["ws://127.0.0.1:0/rpc"],
      allowedOrigins: ["https://example.org"],
      authenticate: ({ headers, origin, path }) => ({ token: headers.get("authorization"), origin, path }),
    });
    const headers = { authorization: "Bearer 1", origin: "https://example.org" };
    const session = await dialled(`${server.urls[0]}?a=b`, { advanced: { headers } });
    const { text } = await session.unary(echo, { text: "" });
    expect(JSON.parse(text)).toEqual({ token: "Bearer 1", origin: "https://example.org", path: "/rpc?a=b" });
  });

  it.each([
    ["an origin that is not allowed", "/rpc", ["quicrpc.v1"], "https://evil.example", 403],
    ["another path", "/", ["quicrpc.v1"], undefined, 404],
    ["another subprotocol", "/rpc", ["chat"], undefined, 400],
  ] as const)("a WebSocket with %s is refused", async (_, path, protocols, origin, status) => {
    const server = await served({
      listen: ["ws://127.0.0.1:0/rpc"],
      allowedOrigins: (given) => given === "https://good.example",
    });
    const socket = new WebSocket(new URL(path, server.urls[0]), [...protocols], origin === undefined ? {} : { origin });
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
    socket.on("error", () => {}).terminate();
    expect(response.statusCode).toBe(status);
  });

  it.skipIf(quic.length === 0)(
    "a WebSocket beside QUIC: the same number, certificate, handlers and admission",
    async () => {
      const server = await served({
        listen: [`https://127.0.0.1:${await freePort()}/rpc`],
        webSocket: true,
        authenticate: ({ transport, path }) => {
          if (path === "/rpc?no") throw new RpcError("unauthenticated", "who are you?");
          return transport;
        },
      });
      const [https = "", wss = ""] = server.urls;
      expect(new URL(wss).protocol).toBe("wss:");
      expect(wss.slice("wss".length)).toBe(https.slice("https".length));
      for (const [url, transport] of [
        [https, "webtransport"],
        [wss, "websocket"],
      ] as const) {
        expect((await (await dialled(url)).unary(echo, { text: "" })).text).toBe(JSON.stringify(transport));
        const refused = await dialled(`${url}?no`);
        expect(await failure(refused.unary(echo, { text: "" }))).toMatchObject({ code: "unauthenticated" });
      }
      await server.drain();
      expect(await failure(dialled(wss))).toMatchObject({ code: "ECONNREFUSED" });
    },
  );

  it.skipIf(quic.length === 0)("a WebSocket whose port is taken leaves no QUIC behind", async () => {
    const port = await freePort();
    const blocker = createServer().listen(port, "127.0.0.1");
    await once(blocker, "listening");
    const options = { listen: [`quic://127.0.0.1:${port}`] };
    expect(await failure(served({ ...options, webSocket: true }))).toMatchObject({ code: "EADDRINUSE" });
    expect((await served(options)).address.port).toBe(port);
    blocker.close();
  });

  it.runIf(unix)("a socket file that a dead process left is replaced, one that is in use is not", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket");
    const listen = [`unix:${path}`];
    const first = await served({ listen });
    expect(await failure(served({ listen }))).toMatchObject({ code: "EADDRINUSE" });
    // Its owner ends, and cannot remove what it does not find.
    await rename(path, `${path}.left`);
    await first.close();
    await rename(`${path}.left`, path);
    const next = await served({ listen });
    expect(await (await dialled(next.urls[0])).ping()).toBeGreaterThan(0);
  });

  it.runIf(unix)("a file that is no socket is not touched", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "quicrpc-")), "notes");
    await writeFile(path, "precious");
    expect(await failure(served({ listen: [`unix:${path}`] }))).toMatchObject({ code: "EADDRINUSE" });
    expect(await readFile(path, "utf8")).toBe("precious");
  });

  it.runIf(unix)("one listener that cannot start ends those that have", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as { port: number };
    const path = join(mkdtempSync(join(tmpdir(), "quicrpc-")), "socket");
    const listen = [`unix:${path}`, `tcp://127.0.0.1:${port}`];
    expect(await failure(served({ listen }))).toMatchObject({ code: "EADDRINUSE" });
    expect(await failure(dialled(`unix:${path}`))).toMatchObject({ code: "ENOENT" });
    blocker.close();
  });

  it.each(schemes.filter((url) => !url.startsWith("quic")))(
    "%s takes a client that a cluster's primary passes before it says that the worker listens",
    async (url) => {
      const front = createServer().listen(0, "127.0.0.1");
      await once(front, "listening");
      const { port } = front.address() as { port: number };
      const passed = once(front, "connection");
      const dialling = dialled(url.replace(":0", `:${port}`));
      const [socket] = (await passed) as [Socket];
      const listen = Reflect.get(NetServer.prototype, "listen") as (
        this: NetServer,
        options: ListenOptions,
      ) => NetServer;
      const spy = vi.spyOn(NetServer.prototype, "listen").mockImplementationOnce(function (this: NetServer, ...given) {
        this.emit("connection", socket);
        return Reflect.apply(listen, this, given) as NetServer;
      });
      await served({ listen: url });
      expect(spy).toHaveBeenCalledOnce();
      spy.mockRestore();
      expect(await (await dialling).ping()).toBeGreaterThan(0);
      front.close();
    },
  );

  it("needs a certificate for TLS, and a URL of a transport that it knows", async () => {
    expect(await failure(serve({ listen: ["tls://127.0.0.1:0"], routers: [] }))).toBeInstanceOf(TypeError);
    expect(await failure(served({ listen: ["gopher://127.0.0.1"] }))).toBeInstanceOf(TypeError);
  });
});

describe("a peer over a byte stream", () => {
  async function rawPeer(options: Partial<ServeOptions>): Promise<{ socket: Socket; end: Promise<unknown> }> {
    let onEnd!: (end: unknown) => void;
    const end = new Promise((resolve) => {
      onEnd = resolve;
    });
    const server = await served({
      listen: ["tcp://127.0.0.1:0"],
      ...options,
      advanced: { onSession: ({ closed }) => onEnd(closed), ...options.advanced },
    });
    const socket = connectTcp(server.address.port, "127.0.0.1");
    open.push({ close: async () => socket.destroy() });
    await once(socket, "connect");
    socket.resume();
    return { socket, end };
  }

  const hello = Buffer.from("024003000001", "hex");

  it("that says nothing is let go of after limits.maxHandshakeMs", async () => {
    const { socket, end } = await rawPeer({ limits: { maxHandshakeMs: 1 } });
    const closed = once(socket, "close");
    expect(await end).toMatchObject({ error: { message: expect.stringContaining("limits.maxHandshakeMs") } });
    await closed;
  });

  it("that is silent, pings and all, is given up", async () => {
    const { socket, end } = await rawPeer({ advanced: { keepAlive: { intervalMs: 1, timeoutMs: 1 } } });
    socket.write(hello);
    expect(await end).toMatchObject({ error: { message: expect.stringContaining("no sign of the peer for 2 ms") } });
  });

  it("that answers pings is kept", async () => {
    const server = await served({
      listen: ["tcp://127.0.0.1:0"],
      routers: [behaviourRouter(new Witness())],
      advanced: { keepAlive: { intervalMs: 1 } },
    });
    const session = await dialled(server.urls[0], { advanced: { keepAlive: false } });
    const [other] = server.sessions;
    const rttMs = (): number => other?.rttMs ?? 0;
    while (rttMs() === 0) await session.unary(echo, { text: "" });
    expect(rttMs()).toBeGreaterThan(0);
  });

  it.each([
    ["another protocol's first bytes", Buffer.from("GET / HTTP/1.1\r\n\r\n"), "does not speak quicrpc"],
    ["garbage after hello", Buffer.concat([hello, Buffer.from("ffffffffffffffffff", "hex")]), "protocol error"],
  ])("that sends %s is told so, and costs nobody else", async (_, bytes, reason) => {
    const { socket, end } = await rawPeer({});
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    const closed = once(socket, "close");
    socket.write(bytes);
    expect(await end).toMatchObject({ reason: expect.stringContaining(reason) });
    await closed;
    expect(Buffer.concat(chunks).toString("latin1")).toContain(reason);
  });

  it("that ends without a close is lost", async () => {
    const { socket, end } = await rawPeer({});
    socket.end(hello);
    expect(await end).toMatchObject({ error: { message: expect.stringContaining("without a close") } });
  });

  it("that sends a text message over a WebSocket is closed", async () => {
    let onEnd!: (end: unknown) => void;
    const end = new Promise((resolve) => {
      onEnd = resolve;
    });
    const server = await served({
      listen: ["ws://127.0.0.1:0/"],
      advanced: { onSession: ({ closed }) => onEnd(closed) },
    });
    const socket = new WebSocket(server.urls[0] as string, ["quicrpc.v1"]);
    await once(socket, "open");
    socket.send("text");
    expect((await once(socket, "close"))[0]).toBe(1003);
    expect(await end).toMatchObject({ error: expect.any(Error) });
  });
});

describe("server.drain", () => {
  it("C64 calls in progress finish on every listener, new ones and new sessions are refused, then all is closed", async () => {
    const witness = new Witness();
    const listen = await Promise.all(schemes.map(async (url) => url.replace(":0", `:${await freePort()}`)));
    const server = await served({ listen, routers: [behaviourRouter(witness)] });
    const sessions = await Promise.all(server.urls.map((url) => dialled(url)));
    const calls = sessions.map((session, i) => session.unary(methods.wait, { text: String(i) }));
    await Promise.all(calls.map((_, i) => witness.until(`wait ${i}`)));
    const drained = server.drain();
    await Promise.all(sessions.map((session) => session.draining));
    for (const session of sessions) {
      expect(await failure(session.unary(echo, { text: "" }))).toMatchObject({ code: "unavailable", refused: true });
    }
    for (const [i] of calls.entries()) witness.release.get(String(i))?.();
    expect(await Promise.all(calls)).toEqual(calls.map((_, i) => ({ text: String(i) })));
    await drained;
    for (const session of sessions) expect(await session.closed).toMatchObject({ closeCode: 0, error: undefined });
    for (const url of server.urls.slice(quic.length)) {
      expect(await failure(dialled(url))).toMatchObject({ code: "ECONNREFUSED" });
    }
  });

  it("C64 the drain deadline holds", async () => {
    const witness = new Witness();
    const server = await served({ listen: ["tcp://127.0.0.1:0"], routers: [behaviourRouter(witness)] });
    const session = await dialled(server.urls[0]);
    const call = failure(session.unary(methods.wait, { text: "a" }));
    await witness.until("wait a");
    await server.drain({ timeoutMs: 1 });
    expect(await call).toMatchObject({ code: "unavailable" });
  });

  it("a signal drains the server, a second one closes it", async () => {
    const witness = new Witness();
    const server = await served({ listen: ["tcp://127.0.0.1:0"], routers: [behaviourRouter(witness)] });
    drainOnSignal(server, { signals: ["SIGUSR2"] });
    const session = await dialled(server.urls[0]);
    const call = failure(session.unary(methods.wait, { text: "a" }));
    await witness.until("wait a");
    process.kill(process.pid, "SIGUSR2");
    await session.draining;
    const later = performance.now() + 500;
    const now = vi.spyOn(performance, "now").mockImplementation(() => later);
    process.kill(process.pid, "SIGUSR2");
    expect(await call).toMatchObject({ code: "unavailable" });
    now.mockRestore();
    await session.closed;
    await server.close();
    await new Promise(setImmediate);
    expect(process.listenerCount("SIGUSR2")).toBe(0);
  });
});

describe("handlers that outlive their calls", () => {
  it.each(schemes)(
    "%s: count for all sessions, in stats and load shedding, and a drain waits for them",
    async (url) => {
      const hang = { wait: methods.wait };
      const release: (() => void)[] = [];
      const router = createRouter(hang, {
        wait: async ({ text }) => {
          await new Promise<void>((resolve) => release.push(resolve));
          return { text };
        },
      });
      const server = await served({
        listen: [url],
        routers: [router, service],
        advanced: { loadShedding: { maxCalls: 2 } },
      });
      for (let i = 0; i < 2; i++) {
        const session = await dialled(server.urls[0]);
        const call = session.unary(methods.wait, { text: "" });
        call.catch(() => {});
        while (release.length <= i) await new Promise(setImmediate);
        await session.close();
      }
      while (server.sessions.size > 0) await new Promise(setImmediate);
      expect(server.stats()).toMatchObject({ sessions: 0, handlers: 2, outlivingHandlers: 2 });
      const session = await dialled(server.urls[0]);
      const refused = await failure(session.unary(methods.wait, { text: "" }));
      expect(refused).toMatchObject({ code: "unavailable", refused: true });
      await session.close();
      let drained = false;
      const drain = server.drain().then(() => (drained = true));
      for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
      expect(drained).toBe(false);
      for (const resolve of release) resolve();
      await drain;
      expect(server.stats()).toMatchObject({ handlers: 0, outlivingHandlers: 0 });
    },
  );

  it("hung ones hold a drain up to its deadline", async () => {
    const router = createRouter({ wait: methods.wait }, { wait: () => new Promise<never>(() => {}) });
    const server = await served({ listen: ["tcp://127.0.0.1:0"], routers: [router] });
    const session = await dialled(server.urls[0]);
    const call = failure(session.unary(methods.wait, { text: "" }));
    while (server.stats().handlers === 0) await new Promise(setImmediate);
    await session.close();
    await call;
    await server.drain({ timeoutMs: 20 });
    expect(server.stats().outlivingHandlers).toBe(1);
  });

  it("hung ones hold a drain no longer where their sessions took all of its time", async () => {
    const router = createRouter({ wait: methods.wait }, { wait: () => new Promise<never>(() => {}) });
    const server = await served({ listen: ["tcp://127.0.0.1:0"], routers: [router] });
    const session = await dialled(server.urls[0]);
    const call = failure(session.unary(methods.wait, { text: "" }));
    while (server.stats().handlers === 0) await new Promise(setImmediate);
    await server.drain({ timeoutMs: 20 });
    await call;
    expect(server.stats()).toMatchObject({ sessions: 0, outlivingHandlers: 1 });
  });
});

describe("authenticate", () => {
  it.each(schemes)(
    "%s: so many calls run at once, until they have settled; others wait for their turn",
    async (url) => {
      const decide: (() => void)[] = [];
      const server = await served({
        listen: [url],
        limits: { maxAuthentications: 2 },
        authenticate: () => new Promise<string>((resolve) => decide.push(() => resolve("somebody"))),
      });
      const sessions = await Promise.all([1, 2, 3, 4].map(() => dialled(server.urls[0])));
      const calls = sessions.map((session) => session.unary(echo, { text: "" }));
      while (decide.length < 2) await new Promise(setImmediate);
      for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
      expect([decide.length, server.stats().authentications]).toEqual([2, 2]);
      decide[0]?.();
      while (decide.length < 3) await new Promise(setImmediate);
      expect(server.stats().authentications).toBe(2);
      decide[1]?.();
      decide[2]?.();
      while (decide.length < 4) await new Promise(setImmediate);
      decide[3]?.();
      await Promise.all(calls);
      expect(server.stats().authentications).toBe(0);
    },
  );

  it.each(quic)("%s: the signal fires when the peer is gone, and what runs on counts and is reported", async (url) => {
    const errors: unknown[] = [];
    const reasons: unknown[] = [];
    const decide: (() => void)[] = [];
    const server = await served({
      listen: [url],
      limits: { maxAuthentications: 1, handlerGraceMs: 1 },
      onError: (error) => void errors.push(error),
      authenticate: (_, signal) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        return new Promise<string>((resolve) => decide.push(() => resolve("somebody")));
      },
    });
    const session = await dialled(server.urls[0]);
    while (decide.length < 1) await new Promise(setImmediate);
    await session.close({ closeCode: 1 });
    while (reasons.length < 1 || errors.length < 1) await new Promise(setImmediate);
    expect(reasons).toMatchObject([{ code: "cancelled" }]);
    expect(errors[0]).toMatchObject({ message: expect.stringContaining("authenticate is still running 1 ms") });
    expect(server.stats().authentications).toBe(1);
    const next = await dialled(server.urls[0]);
    const call = next.unary(echo, { text: "" });
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
    expect(decide).toHaveLength(1);
    decide[0]?.();
    while (decide.length < 2) await new Promise(setImmediate);
    decide[1]?.();
    await call;
  });
});
