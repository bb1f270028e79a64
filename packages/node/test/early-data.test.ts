// Calls in the first flight of a client that comes back (0-RTT), over real QUIC.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type Caller, createSession, type Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { connect, devCertificate, dial, type DialOptions, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { connect as quicConnect, type QuicSession } from "@quicrpc/quic";
import { describe, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { methods as plain } from "../../../test/behaviour/service.js";
import { closedAfterEach } from "../../../test/open.js";

const open = closedAfterEach();

/** `safe` may happen twice, `echo` may not. Both tell whether their session had completed its handshake. */
const methods = { echo: plain.echo, safe: { ...plain.blank, idempotent: true, name: "safe" }, note: plain.note };
let seen: string[] = [];
let onSafe = (): void => {};
const early = (session: Caller): boolean => (session as Session<QuicSession>).transport.early;
const router = createRouter(methods, {
  echo: ({ text }, { session }) => ({ text: `${text} ${early(session)}` }),
  safe: (_, { session }) => {
    seen.push(`safe ${early(session)}`);
    onSafe();
    return {};
  },
  note: ({ text }, { session }) => void seen.push(`note ${text} ${early(session)}`),
});

async function served(options: Partial<ServeOptions> = {}): Promise<Server> {
  seen = [];
  const { port = 0, ...own } = options;
  const server = await serve({
    listen: `quic://127.0.0.1:${port}`,
    tls: await devCertificate(),
    routers: [router],
    onError: () => {},
    authenticate: ({ earlyData }) => void seen.push(`peer ${earlyData}`),
    ...own,
    advanced: { earlyData: true, ...own.advanced },
  });
  open.push(server);
  return server;
}

async function dialOptions(): Promise<DialOptions> {
  return { serverCertificateHashes: [(await devCertificate()).hash], advanced: { earlyData: true } };
}

async function dialled(server: Server, port: number = server.address.port): Promise<Session<QuicSession>> {
  const session = await dial(`quic://127.0.0.1:${port}`, await dialOptions());
  open.push(session);
  return session;
}

/** A first session of this process, after which it has a ticket. */
async function known(server: Server, port?: number): Promise<Server> {
  const first = await dialled(server, port);
  expect(early(first)).toBe(false);
  await first.unary(methods.echo, { text: "" });
  return server;
}

/** A session of a client that sends every call with its first flight. */
async function careless(server: Server, port: number = server.address.port): Promise<Session<QuicSession>> {
  const { hash } = await devCertificate();
  const transport = await quicConnect({
    host: "127.0.0.1",
    port,
    alpn: ["quicrpc/1"],
    tls: { serverCertificateHashes: [hash] },
    earlyData: true,
    transport: { maxStreams: 8 },
  });
  const session = createSession(transport);
  open.push(session);
  return session;
}

/** A path to a UDP port; once cut, the client hears nothing more, and so cannot complete a handshake. */
async function cuttablePath(to: number): Promise<{ port: number; cut(): void }> {
  const [front, back] = [createSocket("udp4"), createSocket("udp4")];
  await Promise.all([front, back].map((socket) => once(socket.bind(0, "127.0.0.1"), "listening")));
  let [client, isCut] = [0, false];
  front.on("message", (data, { port }) => {
    // A dialler's question whether the port is closed comes from a socket of its own.
    if (data.length === 1) return;
    client = port;
    back.send(data, to, "127.0.0.1");
  });
  back.on("message", (data) => {
    if (!isCut) front.send(data, client, "127.0.0.1");
  });
  open.push({
    close: async () => {
      front.close();
      back.close();
    },
  });
  return { port: front.address().port, cut: () => void (isCut = true) };
}

/** Calls in the first flight of `session`: the idempotent one is served at once, the others after the handshake. */
async function expectOnlySafeEarly(session: Session<QuicSession>): Promise<void> {
  expect(early(session)).toBe(true);
  const [, echoed] = await Promise.all([
    session.notify(methods.note, { text: "a" }),
    session.unary(methods.echo, { text: "b" }),
    session.unary(methods.safe, {}),
  ]);
  expect(echoed).toEqual({ text: "b false" });
  while (seen.length < 4) await session.unary(methods.echo, { text: "" });
  expect(seen).toEqual(["peer false", "peer true", "safe true", "note a false"]);
}

/** Another server in the place of one that this process knows. */
async function forgotten(): Promise<Server> {
  const port = await freePort();
  const before = await known(await served({ port }));
  await before.close();
  return served({ port });
}

describe("early data", () => {
  it("carries calls of idempotent methods before the handshake is complete; others wait for it", async () => {
    const session = await dialled(await known(await served()));
    await expectOnlySafeEarly(session);
  });

  it("a client that holds nothing back: the server runs what is not idempotent after the handshake", async () => {
    const session = await careless(await known(await served()));
    await expectOnlySafeEarly(session);
  });

  it.each(["lane", "stream"] as const)(
    "a flight without its end, as one that is sent again: nothing of it runs that is not idempotent, by %s",
    async (via) => {
      const server = await served();
      const path = await cuttablePath(server.address.port);
      await known(server, path.port);
      const safe = new Promise<void>((resolve) => (onSafe = resolve));
      path.cut();
      const session = await careless(server, path.port);
      const lost = [
        session.unary(methods.echo, { text: "b" }, { via }),
        session.notify(methods.note, { text: "a" }, { via }),
        session.unary(methods.safe, {}, { via }),
      ];
      const ends = Promise.allSettled(lost);
      await safe;
      await server.close();
      await session.close();
      await ends;
      expect(seen).toEqual(["peer false", "peer true", "safe true"]);
    },
  );

  it("authenticate may wait for the handshake: then nothing is served early", async () => {
    const log: boolean[] = [];
    const server = await served({
      authenticate: async ({ earlyData, handshake }) => {
        log.push(earlyData);
        await handshake;
      },
    });
    const session = await dialled(await known(server));
    await session.unary(methods.safe, {});
    expect(log).toEqual([false, true]);
    expect(seen).toEqual(["safe false"]);
  });

  it("calls that a server did not take early fail as ones that can be made again", async () => {
    const session = await dialled(await forgotten());
    expect(early(session)).toBe(true);
    await expect(session.unary(methods.safe, {})).rejects.toMatchObject({ code: "unavailable", refused: true });
    expect(session.transport.earlyDataAccepted).toBe(false);
    await session.unary(methods.safe, {});
    expect(await session.unary(methods.echo, { text: "on" })).toEqual({ text: "on false" });
    expect(seen).toEqual(["peer false", "safe false"]);
  });

  it("and a connection makes them again", async () => {
    const server = await forgotten();
    const connection = await connect(server.urls[0] as `quic://${string}`, await dialOptions());
    open.push(connection);
    await connection.unary(methods.safe, {});
    expect(connection.session?.transport.earlyDataAccepted).toBe(false);
    expect(seen).toEqual(["peer false", "safe false"]);
  });

  it("is off where either side does not ask for it", async () => {
    const server = await served({ advanced: { earlyData: false } });
    for (let i = 0; i < 2; i++) {
      const session = await dialled(server);
      expect(early(session)).toBe(false);
      await session.unary(methods.safe, {});
    }
    expect(seen).toEqual(["peer false", "safe false", "peer false", "safe false"]);
  });
});
