// What a connection may cost before it is a session, over everything that `serve` listens on.
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { RpcError, type Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, dial, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { ConnectionLimiter } from "../../packages/node/dist/listen/connection-limiter.js";
import { methods } from "../behaviour/service.js";
import { trustOf } from "../../packages/node/test/trust.js";
import { closedAfterEach } from "../open.js";
import { type Listener, LISTENERS } from "./listeners.js";

const open = closedAfterEach();

const { echo } = methods;
const service = createRouter({ echo }, { echo: (input) => input });

const overTls = LISTENERS.filter(({ name }) =>
  ["TLS", "WebSocket over TLS", "WebTransport over HTTP/2"].includes(name),
);
const overTcp = [...overTls, ...LISTENERS.filter(({ name }) => ["TCP", "WebSocket"].includes(name))];

async function served(
  { listen, ...way }: Pick<Listener, "listen"> & Partial<Listener>,
  options: Partial<ServeOptions>,
): Promise<Server> {
  const { cert, key } = await devCertificate();
  const server = await serve({
    tls: { cert, key },
    routers: [service],
    listen: [listen],
    ...way.options,
    ...options,
    advanced: { ...way.options?.advanced, ...options.advanced },
  });
  open.push(server);
  return server;
}

async function dialled({ options }: Listener, server: Server): Promise<Session> {
  const url = server.urls[0] as string;
  const session = await dial(url, { ...trustOf(url, await devCertificate()), ...options });
  open.push(session);
  return session;
}

/** A session that has made a call; rejects where there is none to have. */
async function answered(way: Listener, server: Server): Promise<Session> {
  const session = await dialled(way, server);
  expect(await session.unary(echo, { text: "a" }, { timeoutMs: 5000 })).toEqual({ text: "a" });
  return session;
}

/** Authentication that waits until it is allowed to go on. */
class Gate {
  /** Sessions that have come to it. */
  asked = 0;
  private open!: () => void;
  private readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });

  readonly authenticate = async (): Promise<void> => {
    this.asked++;
    await this.opened;
  };

  admit(): void {
    this.open();
  }
}

async function rejected(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("it went well");
    },
    (error: unknown) => error,
  );
}

async function silentTcp(server: Server, localAddress: string = "127.0.0.1"): Promise<Socket> {
  const socket = connectTcp({ port: server.address.port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  open.push({ close: async () => socket.destroy() });
  await once(socket, "connect");
  return socket;
}

async function silentTls(server: Server, alpn: string): Promise<Socket> {
  const socket = connectTls({
    port: server.address.port,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ALPNProtocols: [alpn],
  });
  socket.on("error", () => {});
  open.push({ close: async () => socket.destroy() });
  await once(socket, "secureConnect");
  return socket;
}

async function ended(socket: {
  once(event: "close", listener: () => void): unknown;
  resume?(): unknown;
}): Promise<void> {
  socket.resume?.();
  await new Promise<void>((resolve) => void socket.once("close", resolve));
}

describe.each(LISTENERS)("over $name", (way) => {
  it("maxSessions counts sessions, and one that ends makes room", async () => {
    const server = await served(way, { advanced: { transport: { maxSessions: 2 } } });
    const [first] = [await answered(way, server), await answered(way, server)];
    expect(await rejected(answered(way, server))).toBeInstanceOf(Error);
    expect(server.sessions.size).toBe(2);
    await first.close();
    await vi.waitFor(() => expect(server.sessions.size).toBe(1));
    await vi.waitFor(() => answered(way, server), { timeout: 5000 });
  });

  it("one address has three quarters of maxSessions at most, and a session that ends makes room", async () => {
    const server = await served(way, { advanced: { transport: { maxSessions: 8 } } });
    const sessions: Session[] = [];
    for (let count = 0; count < 6; count++) sessions.push(await answered(way, server));
    expect(await rejected(answered(way, server))).toBeInstanceOf(Error);
    expect(server.sessions.size).toBe(6);
    await sessions[0]?.close();
    await vi.waitFor(() => expect(server.sessions.size).toBe(5));
    await vi.waitFor(() => answered(way, server), { timeout: 5000 });
  });

  it("sessions that nobody has authenticated take no place of maxSessions, and no more than are allowed are admitted", async () => {
    const gate = new Gate();
    const server = await served(way, { authenticate: gate.authenticate, advanced: { transport: { maxSessions: 1 } } });
    const dials = Array.from({ length: 3 }, () => answered(way, server));
    const outcomes = Promise.allSettled(dials);
    await vi.waitFor(() => expect(gate.asked).toBe(3));
    gate.admit();
    expect((await outcomes).map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  it("one address has a share of those that are not authenticated, and any number of sessions", async () => {
    const gate = new Gate();
    const server = await served(way, {
      authenticate: gate.authenticate,
      advanced: {
        // Over HTTP/2 and HTTP/3 the connection counts beside its session until that is admitted.
        transport: { maxHandshakesPerAddress: 4 },
      },
    });
    const dials: Promise<Session>[] = [];
    for (let i = 0; i < 5; i++) {
      const before = gate.asked;
      const dialling = answered(way, server);
      dials.push(dialling);
      const asked = vi.waitFor(() => expect(gate.asked).toBe(before + 1), { timeout: 500 });
      await Promise.race([asked, dialling]).catch(() => {});
    }
    expect(gate.asked).toBeGreaterThanOrEqual(2);
    expect(gate.asked).toBeLessThan(5);
    gate.admit();
    const sessions = (await Promise.allSettled(dials)).filter(({ status }) => status === "fulfilled");
    // Over TCP the others have waited, and over HTTP/2 and QUIC they were refused.
    expect(sessions.length).toBe(overTcp.includes(way) && way.name !== "WebTransport over HTTP/2" ? 5 : gate.asked);
    for (let i = 0; i < 6; i++) await answered(way, server);
    expect(server.sessions.size).toBe(sessions.length + 6);
  });

  it("what a peer sends before it is authenticated is there when it is", async () => {
    const gate = new Gate();
    const server = await served(way, { authenticate: gate.authenticate });
    const session = await dialled(way, server);
    const texts = Array.from({ length: 300 }, (_, at) => `${at}`.padEnd(10_000, "x"));
    const calls = texts.map((text) => session.unary(echo, { text }));
    await vi.waitFor(() => expect(gate.asked).toBe(1));
    gate.admit();
    expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(texts);
  });

  it("authentication has what is left of maxHandshakeMs, and the peer learns why it got no session", async () => {
    const refused: RpcError[] = [];
    const server = await served(way, {
      limits: { maxHandshakeMs: 500 },
      authenticate: () => new Promise(() => {}),
      advanced: { onRefused: (error) => void refused.push(error) },
    });
    const session = await dialled(way, server);
    expect(await rejected(session.unary(echo, { text: "" }))).toMatchObject({ code: "deadline_exceeded" });
    expect(refused).toMatchObject([{ message: expect.stringContaining("limits.maxHandshakeMs") }]);
  });
});

describe("a connection that is no session after maxHandshakeMs is closed", () => {
  const limits = { maxHandshakeMs: 200 };

  it.each(overTcp)("one of $name that says nothing", async (way) => {
    await ended(await silentTcp(await served(way, { limits })));
  });

  it.each(overTls)("one of $name that says nothing after its TLS handshake", async (way) => {
    const alpn = way.name === "TLS" ? "quicrpc/1" : way.name === "WebSocket over TLS" ? "http/1.1" : "h2";
    await ended(await silentTls(await served(way, { limits }), alpn));
  });

  it("a request whose header never ends, and one whose body does not", async () => {
    const server = await served({ listen: "ws://127.0.0.1:0/rpc" }, { limits });
    const [header, body] = [await silentTcp(server), await silentTcp(server)];
    header.write("GET /rpc HTTP/1.1\r\nHost: a\r\n");
    body.write("POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx");
    await Promise.all([ended(header), ended(body)]);
  });

  it("one that goes on making requests", async () => {
    const server = await served({ listen: "ws://127.0.0.1:0/rpc" }, { limits });
    const socket = await silentTcp(server);
    socket.on("data", () => socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await ended(socket);
  });

  it("a WebSocket that is refused and does not close", async () => {
    const server = await served({ listen: "ws://127.0.0.1:0/rpc" }, { limits });
    const refused = await silentTcp(server);
    refused.write(
      "GET /elsewhere HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
    await ended(refused);
  });

  it("a WebSocket whose session is refused and that takes no notice", async () => {
    const server = await served(
      { listen: "ws://127.0.0.1:0/rpc" },
      {
        limits: { maxCloseMs: 100 },
        authenticate: () => {
          throw new RpcError("unauthenticated", "who are you?");
        },
      },
    );
    const socket = await silentTcp(server);
    socket.write(
      "GET /rpc HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Protocol: quicrpc.v1\r\n\r\n",
    );
    await ended(socket);
  });

  it("a WebSocket that never greets", async () => {
    const server = await served({ listen: "ws://127.0.0.1:0/rpc" }, { limits });
    const socket = new WebSocket(server.urls[0] as string, ["quicrpc.v1"]);
    socket.on("error", () => {});
    await ended(socket);
  });

  it("one of HTTP/2 whose streams are no sessions", async () => {
    const way = LISTENERS.at(-1) as Listener;
    const client = connectHttp2(`https://127.0.0.1:${(await served(way, { limits })).address.port}`, {
      rejectUnauthorized: false,
    });
    client.on("error", () => {});
    client.request({ ":method": "POST" }, { endStream: false }).on("error", () => {});
    await new Promise<void>((resolve) => void client.once("close", resolve));
  });

  it.skipIf(process.env["QUICRPC_NO_ENGINE"] !== undefined)("one of HTTP/3 that asks for no session", async () => {
    const server = await served({ listen: "https://127.0.0.1:0/rpc" }, { limits });
    const { hash } = await devCertificate();
    const endpoint = Endpoint.bind({ host: "127.0.0.1" });
    open.push(endpoint);
    const session = await endpoint.connect({
      host: "127.0.0.1",
      port: server.address.port,
      serverName: "localhost",
      alpn: ["h3"],
      tls: { serverCertificateHashes: [hash] },
    });
    expect(await session.closed).toMatchObject({ closeCode: 0x100 });
  });
});

it.each(overTcp)("silent connections of one address leave room for others, over $name", async (way) => {
  const server = await served(way, {
    advanced: { transport: { maxHandshakes: 8, maxHandshakesPerAddress: 4, maxSessions: 4 } },
  });
  const silent = await Promise.all(Array.from({ length: 20 }, () => silentTcp(server, "127.0.0.2")));
  for (const socket of silent) socket.resume();
  await vi.waitFor(() => expect(silent.filter(({ readyState }) => readyState === "open")).toHaveLength(12));
  await answered(way, server);
});

describe("connections beyond the share of their address", () => {
  const transport = { maxHandshakes: 8, maxHandshakesPerAddress: 2 };

  it.each(overTcp.filter(({ name }) => name !== "WebTransport over HTTP/2"))(
    "wait for their turn over $name, and each gets a session",
    async (way) => {
      const server = await served(way, { advanced: { transport } });
      const silent = [await silentTcp(server), await silentTcp(server)];
      const sessions = Promise.all(Array.from({ length: 10 }, () => answered(way, server)));
      await silentTcp(server);
      for (const socket of silent) socket.destroy();
      expect(await sessions).toHaveLength(10);
    },
  );

  it("wait for their turn over plain HTTP, and their requests are answered", async () => {
    const server = await served({ listen: "http://127.0.0.1:0" }, { http: true, advanced: { transport } });
    const silent = [await silentTcp(server), await silentTcp(server)];
    const asked = Array.from({ length: 10 }, () => healthz(server));
    await silentTcp(server);
    for (const socket of silent) socket.destroy();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  });

  it("are answered with 503 over plain HTTP if too many wait", async () => {
    const few = { maxSessions: 2, maxHandshakes: 4, maxHandshakesPerAddress: 2 };
    const server = await served({ listen: "http://127.0.0.1:0" }, { http: true, advanced: { transport: few } });
    for (let i = 0; i < 6; i++) await silentTcp(server);
    const refused = await healthz(server, "POST", "x".repeat(200_000));
    expect(refused.status).toBe(503);
    expect(refused.headers).toMatchObject({ "retry-after": "1", connection: "close", "quicrpc-refused": "1" });
    expect(JSON.parse(refused.body)).toMatchObject({ code: "resource_exhausted" });
  });

  it("hold no more than 16 MiB of what they have sent, and the address that holds most loses connections", async () => {
    const many = { maxHandshakes: 200, maxHandshakesPerAddress: 50 };
    const server = await served({ listen: "http://127.0.0.1:0" }, { http: true, advanced: { transport: many } });
    const silent = (address: string, count: number): Promise<Socket[]> =>
      Promise.all(Array.from({ length: count }, () => silentTcp(server, address)));
    for (const address of ["127.0.0.1", "127.0.0.2"]) await silent(address, 50);
    const [sender] = await silent("127.0.0.1", 1);
    const senders = await silent("127.0.0.2", 350);
    const bytes = new Uint8Array(256 * 1024);
    for (const socket of senders) socket.write(bytes);
    const closed = (): number => senders.filter(({ destroyed }) => destroyed).length;
    await vi.waitFor(() => expect(closed()).toBeGreaterThan(0), { timeout: 5000 });
    sender?.write(bytes);
    const before = closed();
    await vi.waitFor(() => expect(closed()).toBeGreaterThan(before), { timeout: 5000 });
    expect(sender?.destroyed).toBe(false);
  });
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Makes a request on a connection of its own. */
async function healthz({ address: { port } }: Server, method: string = "GET", sent?: string): Promise<Answer> {
  const request = httpRequest({ port, host: "127.0.0.1", path: "/healthz", method, agent: false });
  request.end(sent);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, headers: response.headers, body };
}

it("more header fields than anybody needs are refused", async () => {
  const server = await served({ listen: "ws://127.0.0.1:0/rpc" }, {});
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x-${at}`, "y"]));
  const request = httpRequest({
    port: server.address.port,
    path: "/rpc",
    headers: { connection: "upgrade", upgrade: "websocket", "sec-websocket-protocol": "quicrpc.v1", ...fields },
  });
  request.end();
  const [response] = (await once(request, "response")) as [{ statusCode: number; resume(): void }];
  response.resume();
  expect(response.statusCode).toBe(431);
});

describe("the connection limiter of a listener", () => {
  const limits = {
    maxSessions: 3,
    maxSessionsPerAddress: 3,
    maxHandshakes: 4,
    maxHandshakesPerAddress: 2,
    maxHandshakeMs: 1000,
    maxCloseMs: 100,
  };
  const never = (): void => {};

  it("counts what is pending by address, an IPv6 network as one", () => {
    const limiter = new ConnectionLimiter(limits);
    expect(limiter.reserve("2001:db8::1", never)).toBeDefined();
    expect(limiter.reserve("2001:db8:0:0:ffff::2", never)).toBeDefined();
    expect(limiter.reserve("2001:db8::3", never)).toBeUndefined();
    expect(limiter.reserve("2001:db8:0:1::1", never)).toBeDefined();
    const [mapped, plain] = [limiter.reserve("::ffff:192.0.2.1", never), limiter.reserve("192.0.2.2", never)];
    expect(mapped).toBeDefined();
    expect(plain).toBeUndefined();
    mapped?.ended();
    expect(limiter.reserve("192.0.2.2", never)).toBeDefined();
  });

  it("gives an address less the more others have, so that a few do not take everything", () => {
    const limiter = new ConnectionLimiter({ ...limits, maxHandshakes: 1000, maxHandshakesPerAddress: 250 });
    const taken = (address: string): number => {
      let count = 0;
      while (limiter.reserve(address, never) !== undefined) count++;
      return count;
    };
    const each = Array.from({ length: 15 }, (_, at) => taken(`192.0.2.${at}`));
    expect(each.slice(0, 3)).toEqual([250, 188, 141]);
    expect(Math.min(...each)).toBeGreaterThan(0);
    expect(limiter.reserve("198.51.100.1", never)).toBeDefined();
  });

  it("gives an address fewer sessions the more others have", () => {
    const limiter = new ConnectionLimiter({ ...limits, maxSessions: 100, maxSessionsPerAddress: 75 });
    const taken = (source: string): number => {
      let count = 0;
      while (limiter.takeSession(source)) count++;
      return count;
    };
    expect(["a", "b", "c", "a"].map(taken)).toEqual([75, 19, 5, 0]);
    expect(["a", "b", "c"].map((source) => limiter.isFull(source))).toEqual([true, true, true]);
    for (let count = 0; count < 75; count++) limiter.releaseSession("a");
    expect(taken("d")).toBe(57);
  });

  describe("of idle connections", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    /** Connections that have a session's place, by name; the first letter is the source. */
    function idleIn(limiter: ConnectionLimiter, names: readonly string[]): { take: Take; closed: string[] } {
      const closed: string[] = [];
      const take: Take = (name) => {
        const connection = limiter.reserve(`192.0.2.${name[0]}`, () => void closed.push(name));
        if (connection?.greeted() !== true) return undefined;
        connection.requestBegan();
        return connection;
      };
      for (const name of names) {
        take(name)?.requestEnded();
        vi.advanceTimersByTime(1000);
      }
      return { take, closed };
    }
    type Take = (name: string) => ReturnType<ConnectionLimiter["reserve"]>;

    it("closes the one that has been idle longest for a new one, of any address if all places are taken", () => {
      const { take, closed } = idleIn(new ConnectionLimiter(limits), ["1a", "2b", "3c"]);
      vi.advanceTimersByTime(5000);
      expect(take("4d")).toBeDefined();
      expect(closed).toEqual(["1a"]);
      expect(take("4e")).toBeDefined();
      expect(closed).toEqual(["1a", "2b"]);
    });

    it("closes one of the same address if that has no share left", () => {
      const few = { ...limits, maxSessions: 8, maxSessionsPerAddress: 2 };
      const { take, closed } = idleIn(new ConnectionLimiter(few), ["1a", "2b", "2c"]);
      vi.advanceTimersByTime(5000);
      expect(take("2d")).toBeDefined();
      expect(closed).toEqual(["2b"]);
    });

    it("closes the oldest of the same address if all places are taken and it has more than its share", () => {
      const some = { ...limits, maxSessions: 8, maxSessionsPerAddress: 6 };
      const own = ["1a", "1b", "1c", "1d", "1e", "1f"];
      const { take, closed } = idleIn(new ConnectionLimiter(some), ["2a", ...own]);
      expect(take("3a")).toBeDefined();
      vi.advanceTimersByTime(5000);
      expect(take("1g")).toBeDefined();
      expect(closed).toEqual(["1a"]);
      expect(take("4a")).toBeDefined();
      expect(closed).toEqual(["1a", "2a"]);
    });

    it("looks at two of them at most", () => {
      const limiter = new ConnectionLimiter({ ...limits, maxSessions: 100, maxSessionsPerAddress: 75 });
      const { take } = idleIn(limiter, []);
      let reads = 0;
      const idleSince = { get: () => ++reads && 0, set: () => {} };
      for (let count = 0; count < 50; count++) take("3");
      for (let count = 0; count < 40; count++) {
        const connection = take(count % 2 === 0 ? "1" : "2");
        Object.defineProperty(connection, "idleSince", idleSince);
        connection?.requestEnded();
      }
      vi.advanceTimersByTime(5000);
      expect(limiter.isFull("192.0.2.3")).toBe(true);
      expect(reads).toBeGreaterThan(0);
      expect(reads).toBeLessThanOrEqual(2);
      expect(limiter.isFull("192.0.2.4")).toBe(false);
      expect(reads).toBeLessThanOrEqual(4);
    });

    it("closes none that answers a request, or did less than 5 seconds ago", () => {
      const limiter = new ConnectionLimiter(limits);
      const { take, closed } = idleIn(limiter, []);
      const [busy, idle, again] = ["1a", "2b", "3c"].map(take);
      idle?.requestEnded();
      again?.requestEnded();
      vi.advanceTimersByTime(4999);
      expect(limiter.isFull("192.0.2.4")).toBe(true);
      expect(take("4d")).toBeUndefined();
      again?.requestBegan();
      vi.advanceTimersByTime(1);
      expect(take("4d")).toBeDefined();
      expect(closed).toEqual(["2b"]);
      vi.advanceTimersByTime(60_000);
      expect(take("5e")).toBeUndefined();
      busy?.ended();
      expect(take("5e")).toBeDefined();
    });
  });

  describe("of connections without a place", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it("closes one in time whose requests are refused over and over", () => {
      const limiter = new ConnectionLimiter({ ...limits, maxSessions: 1, maxSessionsPerAddress: 1 });
      let closed = 0;
      const refused = limiter.reserve("192.0.2.1", () => void closed++);
      expect(limiter.takeSession("192.0.2.2")).toBe(true);
      for (let ms = 0; ms < limits.maxCloseMs; ms += 10) {
        expect(closed).toBe(0);
        expect(refused?.greeted()).toBe(false);
        vi.advanceTimersByTime(10);
      }
      expect(closed).toBe(1);
    });

    it("keeps one that carries a session", () => {
      const limiter = new ConnectionLimiter({ ...limits, maxSessions: 1, maxSessionsPerAddress: 1 });
      let closed = 0;
      const connection = limiter.reserve("192.0.2.1", () => void closed++);
      const left = connection?.carry();
      expect(limiter.takeSession("192.0.2.1")).toBe(true);
      expect(connection?.greeted()).toBe(false);
      vi.advanceTimersByTime(60_000);
      expect(closed).toBe(0);
      left?.();
      vi.advanceTimersByTime(limits.maxHandshakeMs);
      expect(closed).toBe(1);
    });
  });

  it("counts a connection once that was upgraded after it had answered requests", () => {
    const limiter = new ConnectionLimiter({ ...limits, maxSessions: 1, maxSessionsPerAddress: 1 });
    const connection = limiter.reserve("192.0.2.1", never);
    expect([connection?.greeted(), connection?.admit(), connection?.greeted()]).toEqual([true, true, true]);
    connection?.ended();
    expect(limiter.reserve("192.0.2.1", never)?.greeted()).toBe(true);
  });

  /** Newcomers of a limiter, and what became of them. */
  function queueOf(limiter: ConnectionLimiter): { arrive: (address: string) => () => void; outcomes: string[] } {
    const outcomes: string[] = [];
    let count = 0;
    const arrive = (address: string): (() => void) => {
      const name = `${address.at(-1)}${++count}`;
      let leave = never;
      const ended = limiter.arrive({
        address,
        close: never,
        onPlace: (pending) => {
          outcomes.push(name);
          leave = () => pending.ended();
        },
        refuse: () => void outcomes.push(`no ${name}`),
      });
      return () => {
        ended();
        leave();
      };
    };
    return { arrive, outcomes };
  }

  it("lets connections that wait in by turns of their addresses", () => {
    const limiter = new ConnectionLimiter({
      ...limits,
      maxHandshakesPerAddress: 4,
      maxSessions: 100,
      maxSessionsPerAddress: 75,
    });
    const { arrive, outcomes } = queueOf(limiter);
    const first = Array.from({ length: 4 }, () => arrive("192.0.2.1"));
    const [left] = Array.from({ length: 4 }, () => arrive("192.0.2.1"));
    for (let i = 0; i < 2; i++) arrive("192.0.2.2");
    expect(outcomes.splice(0)).toEqual(["11", "12", "13", "14"]);
    left?.();
    for (const leave of first) leave();
    expect(outcomes).toEqual(["16", "29", "17", "210"]);
  });

  it("refuses the newest of the address with the most when there are too many, and each in time", () => {
    vi.useFakeTimers();
    try {
      const limiter = new ConnectionLimiter(limits);
      const { arrive, outcomes } = queueOf(limiter);
      for (let i = 0; i < 8; i++) arrive("192.0.2.1");
      arrive("192.0.2.2");
      expect(outcomes.splice(0)).toEqual(["11", "12", "no 18", "29", "no 17"]);
      vi.advanceTimersByTime(999);
      expect(outcomes).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(outcomes).toEqual(["no 13", "no 14", "no 15", "no 16"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives an address a share of the waiting connections, which shrinks with those of others", () => {
    const limiter = new ConnectionLimiter({ ...limits, maxSessions: 10_000, maxHandshakes: 8 });
    const { arrive, outcomes } = queueOf(limiter);
    const waitingOf = (address: string): number => {
      outcomes.splice(0);
      for (let i = 0; i < 100; i++) arrive(address);
      return 100 - outcomes.length;
    };
    expect([waitingOf("192.0.2.1"), waitingOf("192.0.2.2"), waitingOf("192.0.2.3")]).toEqual([16, 12, 9]);
  });

  it("closes what is pending when its time is over, and not what is settled", () => {
    vi.useFakeTimers();
    try {
      const limiter = new ConnectionLimiter(limits);
      const closed: string[] = [];
      const [, settled, refused] = ["silent", "settled", "refused"].map((name) =>
        limiter.reserve(undefined, () => void closed.push(name)),
      );
      settled?.admit();
      settled?.greeted();
      refused?.refuse();
      vi.advanceTimersByTime(100);
      expect(closed).toEqual(["refused"]);
      vi.advanceTimersByTime(10_000);
      expect(closed).toEqual(["refused", "silent"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("a connection that carries sessions is pending again after the last", () => {
    vi.useFakeTimers();
    try {
      const limiter = new ConnectionLimiter(limits);
      const closed: string[] = [];
      const connection = limiter.reserve("192.0.2.1", () => void closed.push("connection"));
      const left = connection?.carry();
      connection?.settled();
      vi.advanceTimersByTime(10_000);
      expect(closed).toEqual([]);
      left?.();
      vi.advanceTimersByTime(999);
      expect(closed).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(closed).toEqual(["connection"]);
    } finally {
      vi.useRealTimers();
    }
  });
});
