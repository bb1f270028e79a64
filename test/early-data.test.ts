// Calls in the first flight of a client that comes back (0-RTT), over real QUIC.
import { type Caller, createRouter, type Session } from "@quicrpc/core";
import { connect, devCertificate, dial, type DialOptions, serve, type ServeOptions, type Server } from "@quicrpc/node";
import type { QuicSession } from "@quicrpc/quic";
import { afterEach, describe, expect, it } from "vitest";
import { methods as plain } from "./behaviour/service.js";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** `safe` may happen twice, `echo` may not. Both tell whether their session had completed its handshake. */
const methods = { echo: plain.echo, safe: { ...plain.blank, idempotent: true, name: "safe" }, note: plain.note };
let seen: string[] = [];
const early = (session: Caller): boolean => (session as Session<QuicSession>).transport.early;
const router = createRouter(methods, {
  echo: ({ text }, { session }) => ({ text: `${text} ${early(session)}` }),
  safe: (_, { session }) => {
    seen.push(`safe ${early(session)}`);
    return {};
  },
  note: ({ text }, { session }) => void seen.push(`note ${text} ${early(session)}`),
});

async function served(options: Partial<ServeOptions> = {}): Promise<Server> {
  seen = [];
  const listen = [options.port === undefined ? "quic://127.0.0.1:0" : `quic://127.0.0.1:${options.port}`];
  const server = await serve({
    listen,
    tls: await devCertificate(),
    routers: [router],
    earlyData: true,
    authenticate: ({ earlyData }) => void seen.push(`peer ${earlyData}`),
    ...options,
  });
  open.push(server);
  return server;
}

async function dialOptions(): Promise<DialOptions> {
  return { serverCertificateHashes: [(await devCertificate()).hash], earlyData: true };
}

async function dialled(server: Server): Promise<Session<QuicSession>> {
  const session = await dial(server.urls[0] as `quic://${string}`, await dialOptions());
  open.push(session);
  return session;
}

/** A first session of this process, after which it has a ticket. */
async function known(server: Server): Promise<Server> {
  const first = await dialled(server);
  expect(early(first)).toBe(false);
  await first.unary(methods.echo, { text: "" });
  return server;
}

/** Another server in the place of one that this process knows. */
async function forgotten(): Promise<Server> {
  const before = await known(await served());
  const { port } = before.address;
  await before.close();
  return served({ port });
}

describe("early data", () => {
  it("carries calls of idempotent methods before the handshake is complete; others wait for it", async () => {
    const session = await dialled(await known(await served()));
    expect(early(session)).toBe(true);
    const [, echoed] = await Promise.all([
      session.notify(methods.note, { text: "a" }),
      session.unary(methods.echo, { text: "b" }),
      session.unary(methods.safe, {}),
    ]);
    expect(echoed).toEqual({ text: "b false" });
    while (seen.length < 4) await session.unary(methods.echo, { text: "" });
    expect(seen).toEqual(["peer false", "peer true", "safe true", "note a false"]);
  });

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
    const server = await served({ earlyData: false });
    for (let i = 0; i < 2; i++) {
      const session = await dialled(server);
      expect(early(session)).toBe(false);
      await session.unary(methods.safe, {});
    }
    expect(seen).toEqual(["peer false", "safe false", "peer false", "safe false"]);
  });
});
