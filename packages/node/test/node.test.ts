import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Connection, Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { refusalCode } from "@quicrpc/core/transport";
import {
  connect,
  type ConnectOptions,
  devCertificate,
  dial,
  serve,
  type ServeOptions,
  type Server,
} from "@quicrpc/node";
import type { QuicSession } from "@quicrpc/quic";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { closedAfterEach } from "../../../test/open.js";

const host = "127.0.0.1";
const open = closedAfterEach();

async function served(options: Partial<ServeOptions> = {}): Promise<Server> {
  const routers = [behaviourRouter(new Witness())];
  const server = await serve({ host, port: 0, tls: await devCertificate(), routers, ...options });
  open.push(server);
  return server;
}

async function connected(server: Server, options: ConnectOptions = {}): Promise<Connection<Session<QuicSession>>> {
  const { hash } = await devCertificate();
  const url = `quic://${host}:${server.address.port}` as const;
  const session = await connect(url, { serverCertificateHashes: [hash], ...options });
  open.push(session);
  return session;
}

describe("serve and connect", () => {
  it("carry calls, both ways, with the application's connection context", async () => {
    const sessions: Session[] = [];
    const { echo } = methods;
    const router = createRouter({ echo }, { echo: (_, { connection }) => ({ text: String(connection) }) });
    const server = await served({
      routers: [router],
      authenticate: ({ remoteAddress }) => `from ${remoteAddress?.host}`,
      advanced: { onSession: (session) => void sessions.push(session) },
    });
    const session = await connected(server, { routers: [behaviourRouter(new Witness())] });
    expect(await session.unary(echo, { text: "" })).toEqual({ text: "from 127.0.0.1" });
    expect(session.session?.transport.alpnProtocol).toBe("quicrpc/1");
    expect(await sessions[0]?.unary(echo, { text: "to the client" })).toEqual({ text: "to the client" });
    expect(server.sessions.size).toBe(1);
    await session.close();
    await sessions[0]?.closed;
    expect(server.sessions.size).toBe(0);
  });

  it("a server whose hook throws loses that session only", async () => {
    const thrown: [error: unknown, method: string][] = [];
    let count = 0;
    const server = await served({
      onError: (error, { method }) => void thrown.push([error, method]),
      authenticate: () => {
        if (count++ === 0) throw new Error("in the hook");
        return "second";
      },
    });
    const first = await connected(server, { reconnect: false });
    expect(await first.closed).toMatchObject({ closeCode: refusalCode("internal") });
    expect(thrown).toMatchObject([[{ message: "in the hook" }, "authenticate"]]);
    const second = await connected(server);
    expect(await second.unary(methods.echo, { text: "on" })).toEqual({ text: "on" });
    expect(server.sessions.size).toBe(1);
  });

  it("a client whose routers collide dials nobody", async () => {
    const server = await served();
    const routers = [behaviourRouter(new Witness()), behaviourRouter(new Witness())];
    await expect(connected(server, { routers })).rejects.toThrow("test.v1.Behaviour/echo");
    expect(server.sessions.size).toBe(0);
  });

  it("a closing server fails the calls in progress with unavailable, and says why", async () => {
    const witness = new Witness();
    const server = await served({ routers: [behaviourRouter(witness)] });
    const session = await connected(server, { reconnect: false });
    const call = session.unary(methods.wait, { text: "a" });
    await witness.until("wait a");
    await Promise.all([
      expect(call).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("maintenance") }),
      server.close({ closeCode: 9, reason: "maintenance" }),
    ]);
    expect(await session.closed).toMatchObject({ closeCode: 9, reason: "maintenance" });
  });

  it("a handler's exception is printed by default, with the method's name and the peer's", async () => {
    const print = vi.spyOn(console, "error").mockImplementation(() => {});
    const session = await connected(await served());
    await expect(session.unary(methods.crash, { text: "boom" })).rejects.toMatchObject({ code: "internal" });
    expect(print).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^quicrpc: test\.v1\.Behaviour\/crash for 127\.0\.0\.1:\d+ failed: Error: boom\n\s+at /),
    );
    print.mockRestore();
  });
});

describe("a connection that heals", () => {
  it("finds the server that comes back on its port; both ends serve again", async () => {
    const sessions: Session[] = [];
    const onSession = (session: Session): void => void sessions.push(session);
    const port = await freePort();
    const first = await served({ port, advanced: { onSession } });
    const client = await connected(first, {
      routers: [behaviourRouter(new Witness())],
      advanced: { backoff: { initialMs: 10, maxMs: 50 } },
    });
    const before = client.session;
    expect(await client.unary(methods.echo, { text: "first" })).toEqual({ text: "first" });
    await first.close({ closeCode: 7, reason: "restart" });
    for await (const { status } of client.states()) if (status === "connecting") break;
    const early = client.unary(methods.echo, { text: "second" });
    await served({ port, advanced: { onSession } });
    expect(await early).toEqual({ text: "second" });
    expect(client.state).toEqual({ status: "ready" });
    expect(client.session).not.toBe(before);
    expect(await sessions.at(-1)?.unary(methods.echo, { text: "back" })).toEqual({ text: "back" });
  });

  it("waits for a server that starts later", async () => {
    const port = await freePort();
    const { hash } = await devCertificate();
    const connecting = connect(`quic://${host}:${port}`, { serverCertificateHashes: [hash], timeoutMs: 5000 });
    await served({ port });
    const client = await connecting;
    open.push(client);
    expect(await client.unary(methods.echo, { text: "late" })).toEqual({ text: "late" });
  });
});

describe("what can go wrong says so, with a code", () => {
  it("the port is in use", async () => {
    const { address } = await served();
    const error = await failure(served({ port: address.port }));
    expect(error).toMatchObject({
      name: "TransportError",
      code: "EADDRINUSE",
      cause: { name: "QuicError", source: "system" },
    });
    expect(error.message).toContain(String(address.port));
  });

  it.each([
    ["an empty certificate", { cert: "" }],
    ["a certificate that is none", { cert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }],
    ["a missing key", { key: "" }],
    ["no certificate at all", { cert: undefined as unknown as string }],
  ])("%s", async (_, wrong) => {
    const tls = { ...(await devCertificate()), ...wrong };
    const error = await failure(served({ tls }));
    expect(error).toMatchObject({ name: "TransportError", code: "ERR_QUIC_INVALID_OPTION" });
  });

  it("nobody answers", async () => {
    const silent = createSocket("udp4").bind(0, host);
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const { port } = silent.address();
    const error = await failure(connect(`quic://${host}:${port}`, { timeoutMs: 200 }));
    expect(error).toMatchObject({ code: "ERR_QUIC_HANDSHAKE_TIMEOUT" });
    expect(error.message).toContain(`127.0.0.1:${port}`);
  });

  it("nobody listens, which dial knows at once and connect waits for", async () => {
    const wanted = { code: "ECONNREFUSED", message: expect.stringContaining("127.0.0.1:1 ") };
    expect(await failure(dial(`quic://${host}:1`))).toMatchObject(wanted);
    expect(await failure(dial(`https://${host}:1`))).toMatchObject(wanted);
    // Longer than an attempt takes on a busy machine: one that is cut short says nothing of the port.
    expect(await failure(connect(`quic://${host}:1`, { timeoutMs: 1000 }))).toMatchObject(wanted);
  });

  it("the attempt is aborted", async () => {
    const connecting = connect(`quic://${host}:1`, { signal: AbortSignal.timeout(20) });
    expect((await failure(connecting)).name).toMatch(/TimeoutError|TransportError/);
  });

  it("a scheme that is not a known transport", async () => {
    expect((await failure(connect("http://localhost:1"))).message).toContain("http:// is not a known transport");
  });

  it("two routers for one method", async () => {
    const routers = [behaviourRouter(new Witness()), behaviourRouter(new Witness())];
    expect((await failure(served({ routers }))).message).toContain("test.v1.Behaviour/echo");
  });

  it("a router without a handler", () => {
    expect(() => createRouter({ echo: methods.echo }, {} as never)).toThrow("test.v1.Behaviour/echo has no handler");
  });
});

describe("devCertificate", () => {
  async function inFolder(test: (directory: string) => Promise<void>): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), "quicrpc-"));
    try {
      await test(join(directory, "made"));
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  it("is made once, kept for this user only, and is what browsers trust by hash", () =>
    inFolder(async (directory) => {
      const all = await Promise.all(Array.from({ length: 4 }, () => devCertificate({ directory })));
      const [first] = all;
      expect(new Set(all.map(({ cert }) => cert)).size).toBe(1);
      expect((await devCertificate({ directory })).cert).toBe(first?.cert);
      const [file] = await readdir(directory);
      if (process.platform !== "win32") expect((await stat(join(directory, file ?? ""))).mode & 0o077).toBe(0);
      const days = ((first?.validTo.getTime() ?? 0) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(13);
      expect(days).toBeLessThan(14);
    }));

  it("is made anew when it is about to expire, or when the file is damaged", () =>
    inFolder(async (directory) => {
      const { cert } = await devCertificate({ directory });
      vi.useFakeTimers({ now: Date.now() + 13.5 * 86_400_000, toFake: ["Date"] });
      const renewed = await devCertificate({ directory });
      vi.useRealTimers();
      expect(renewed.cert).not.toBe(cert);
      const [file] = await readdir(directory);
      const path = join(directory, file ?? "");
      await writeFile(path, (await readFile(path, "utf8")).slice(100));
      const again = await devCertificate({ directory });
      expect(again.cert).not.toBe(renewed.cert);
      expect((await devCertificate({ directory })).cert).toBe(again.cert);
    }));
});

async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("it went well");
}
