import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createSocket } from "node:dgram";
import { link, mkdtemp, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSession, type Connection, type Session } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { Endpoint } from "@quicrpc/quic";
import { connect, devCertificate, type DialOptions, dial, serve } from "@quicrpc/node";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../test/open.js";
import { certificate as testCertificate } from "../../quic/test/certificates.js";

const PROGRAM = new URL("workers.program.mjs", import.meta.url);
const SIZE = 3;

const service = { name: "test.v1.Workers", id: 7050 };
const number = uncheckedCodec<number>();
const pid = defineMethod(service, "unary", "pid", { id: 1, output: number });
const slow = defineMethod(service, "unary", "slow", { id: 2, idempotent: true, input: number, output: number });
const crash = defineMethod(service, "notify", "crash", { id: 3 });
const inherited = defineMethod(service, "unary", "inherited", { id: 4, output: uncheckedCodec<unknown>() });

interface Said {
  readonly urls: readonly [string, ...string[]];
  readonly pids: readonly number[];
  readonly stats: { readonly sessions: number };
}

let certificate: Awaited<ReturnType<typeof devCertificate>>;
beforeAll(async () => {
  certificate = await devCertificate();
});

const open = closedAfterEach();

/** Who hands packets to the workers that are started. */
let steering: "kernel" | "relay" = "kernel";

function start(options: object, more: object = {}): ChildProcess {
  const { cert, key } = certificate;
  const all = { tls: { cert, key }, workers: SIZE, ...options };
  const child = fork(PROGRAM, [JSON.stringify({ options: all, ...more })], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, QUICRPC_STEERING: steering },
  });
  open.push({
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  });
  return child;
}

/** The next message that has a field of this name. Rejects where the process could not serve. */
async function hear<Told>(child: ChildProcess, field: string): Promise<Told> {
  for (;;) {
    const [told] = (await once(child, "message")) as [Record<string, unknown>];
    if (field in told) return told as Told;
    if ("failed" in told) throw new Error("the workers could not serve", { cause: told["failed"] });
  }
}

async function ask(child: ChildProcess, command: string): Promise<Said> {
  const answer = hear<Said>(child, "urls");
  child.send(command);
  return answer;
}

async function group(options: object): Promise<{ readonly child: ChildProcess; readonly said: Said }> {
  const child = start(options);
  return { child, said: await hear<Said>(child, "urls") };
}

function trust(): DialOptions {
  return { serverCertificateHashes: [certificate.hash] };
}

async function dialled(url: string): Promise<Session> {
  const session = await dial(url, /^(unix|tcp|ws):/.test(url) ? {} : trust());
  open.push(session);
  return session;
}

async function connected(url: string): Promise<Connection> {
  const connection = await connect(url, trust());
  open.push(connection);
  return connection;
}

// On Windows processes have no signals by which these tests end and halt them.
const severalWorkers = describe
  .skipIf(process.platform === "win32")
  .each(process.platform === "linux" ? (["kernel", "relay"] as const) : (["relay"] as const));

severalWorkers("several workers on one port, steering %s", (chosen) => {
  beforeEach(() => {
    steering = chosen;
  });

  it.each([
    ["quic://127.0.0.1:0"],
    ["quic://[::]:0"],
    ["https://127.0.0.1:0/rpc"],
    ["tls://127.0.0.1:0"],
    ["wss://127.0.0.1:0/rpc"],
    // A path of its own: workers that were killed a moment ago may still listen at the last one.
    [`unix:${join(tmpdir(), `quicrpc-workers-${process.pid}-${chosen}`)}`],
  ])("share the clients of %s, and each keeps its own", async (listen) => {
    const { child, said } = await group({ listen });
    expect(said.pids).toHaveLength(SIZE);
    expect(said.pids).not.toContain(child.pid);
    const [url] = said.urls;
    const sessions: Session[] = [];
    const served = new Map<Session, number>();
    // As many as it takes: by chance one worker gets none of a few.
    while (new Set(served.values()).size < SIZE && sessions.length < 200) {
      const session = await dialled(url);
      sessions.push(session);
      served.set(session, await session.unary(pid, undefined));
    }
    expect(new Set(served.values())).toEqual(new Set(said.pids));
    for (const [session, worker] of served) expect(await session.unary(pid, undefined)).toBe(worker);
  });

  it("replace the socket file of a process that was killed", async () => {
    const path = join(await mkdtemp(join(tmpdir(), "quicrpc-workers-")), "left");
    // A file of another name stays when its server closes, and nobody listens there.
    const killed = createServer().listen(`${path}.first`);
    await once(killed, "listening");
    await link(`${path}.first`, path);
    await new Promise((closed) => killed.close(closed));
    const { said } = await group({ listen: `unix:${path}`, workers: 8 });
    expect(said.pids).toContain(await (await dialled(`unix:${path}`)).unary(pid, undefined));
  });

  it("offer WebSocket on the port of the same number", async () => {
    const { said } = await group({ listen: "quic://127.0.0.1:0", webSocket: true });
    const ports = said.urls.map((url) => new URL(url).port);
    expect(said.urls.map((url) => new URL(url).protocol)).toEqual(["quic:", "wss:"]);
    expect(ports[0]).toBe(ports[1]);
    for (const url of said.urls) expect(said.pids).toContain(await (await dialled(url)).unary(pid, undefined));
  });

  it("take another port where that of the same number is taken over TCP", async () => {
    const child = start({ listen: "quic://127.0.0.1:0", webSocket: true }, { takesFirst: true });
    const { taken } = await hear<{ taken: number }>(child, "taken");
    const { urls, pids } = await hear<Said>(child, "urls");
    expect(new Set(urls.map((url) => new URL(url).port)).size).toBe(1);
    expect(urls[0]).not.toBe(`quic://127.0.0.1:${taken}`);
    for (const url of urls) expect(pids).toContain(await (await dialled(url)).unary(pid, undefined));
  });

  it.each([
    ["", {}],
    [", with ids that a balancer routes by", { advanced: { connectionIds: { serverId: "0x1122334455667788" } } }],
    [", and has proven its first one by a Retry", { advanced: { transport: { retryThreshold: 0 } } }],
  ])("keep a client whose address changes%s", async (_, options) => {
    const { said } = await group({ listen: "quic://127.0.0.1:0", ...options });
    const port = Number(new URL(said.urls[0]).port);
    const clients = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const endpoint = Endpoint.bind({ host: "127.0.0.1" });
        open.push(endpoint);
        const tls = { serverCertificateHashes: [certificate.hash] };
        const transport = await endpoint.connect({ host: "127.0.0.1", port, alpn: ["quicrpc/1"], tls });
        const session = createSession(transport);
        return { endpoint, session, worker: await session.unary(pid, undefined) };
      }),
    );
    expect(new Set(clients.map(({ worker }) => worker)).size).toBeGreaterThan(1);
    for (let moves = 0; moves < 25; moves++) {
      await Promise.all(
        clients.map(async ({ endpoint, session, worker }) => {
          const calls = Array.from({ length: 4 }, () => session.unary(pid, undefined));
          endpoint.rebind();
          expect(await Promise.all([...calls, session.unary(pid, undefined)])).toEqual(
            Array.from({ length: 5 }, () => worker),
          );
        }),
      );
    }
  });

  it("resume sessions that others began, and ask clients for certificates", async () => {
    const authority = await testCertificate({ ca: true });
    const client = await testCertificate({ issuer: authority, names: ["client.example"] });
    const { said } = await group({
      listen: "quic://127.0.0.1:0",
      advanced: { clientCertificates: { ca: authority.cert } },
    });
    const [url] = said.urls;
    const endpoint = Endpoint.bind({ host: "127.0.0.1" });
    open.push(endpoint);
    const where = { host: "127.0.0.1", port: Number(new URL(url).port), alpn: ["quicrpc/1"], earlyData: true };
    const { cert, key } = client;
    const tls = { serverCertificateHashes: [certificate.hash], cert, key };
    const workers = new Map<number, boolean>();
    for (let sessions = 0; workers.size < SIZE && sessions < 100; sessions++) {
      const transport = await endpoint.connect({ ...where, tls });
      const session = createSession(transport);
      const worker = await session.unary(pid, undefined);
      if (!workers.has(worker)) workers.set(worker, transport.resumed);
      await session.close();
    }
    // All but the first session that there was.
    expect(Array.from(workers.values())).toEqual([false, true, true]);
    await expect(dialled(url)).rejects.toThrow("certificate");
  });

  it("replace one that dies, and the others' clients do not notice", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0" });
    const [url] = said.urls;
    const connections = await Promise.all(Array.from({ length: 12 }, () => connected(url)));
    const workers = await Promise.all(connections.map((connection) => connection.unary(pid, undefined)));
    const [victim] = workers;
    const before = connections.map(({ session }) => session);
    const told = hear<{ error: string }>(child, "error");
    connections[0]?.notify(crash, undefined).catch(() => {});
    expect((await told).error).toContain(`(process ${victim}) ended: signal SIGKILL`);
    // The first call finds out: what was sent to the worker that died is answered by nobody.
    await Promise.allSettled(connections.map((connection) => connection.unary(pid, undefined)));
    const after = await Promise.all(connections.map((connection) => connection.unary(pid, undefined)));
    for (const [index, worker] of workers.entries()) {
      if (worker === victim) expect(after[index]).not.toBe(victim);
      else expect([after[index], connections[index]?.session]).toEqual([worker, before[index]]);
    }
    for (;;) {
      const { pids } = await ask(child, "say");
      if (pids.length === SIZE && pids.every((one) => one !== victim)) break;
    }
  });

  it("replace one that is stuck", async () => {
    const { child, said } = await group({
      listen: "quic://127.0.0.1:0",
      workers: 1,
      advanced: { workerHangTimeoutMs: 3000 },
    });
    const told = hear<{ error: string }>(child, "error");
    process.kill(said.pids[0] as number, "SIGSTOP");
    expect((await told).error).toContain("has not responded for 3 s");
    const connection = await connected(said.urls[0]);
    expect(await connection.unary(pid, undefined)).not.toBe(said.pids[0]);
  });

  it("are restarted one after the other without an error at any caller", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0" });
    const [url] = said.urls;
    const connections = await Promise.all(Array.from({ length: 12 }, () => connected(url)));
    const over = new AbortController();
    const calling = connections.map(async (connection) => {
      const pids = new Set<number>();
      while (!over.signal.aborted) pids.add(await connection.unary(slow, 5));
      return pids;
    });
    const { pids } = await ask(child, "restart");
    over.abort();
    expect(pids).toHaveLength(SIZE);
    expect(pids.filter((one) => said.pids.includes(one))).toEqual([]);
    const seen = await Promise.all(calling);
    for (const one of seen) expect(one.size).toBeGreaterThan(1);
  });

  it("tell their clients over the time that a restart is given", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0", workers: 1 });
    const connections = await Promise.all([1, 2].map(() => connected(said.urls[0])));
    for (const connection of connections) await connection.unary(pid, undefined);
    const sessions = connections.map(({ session }) => session as Session);
    child.send("restart slowly");
    await Promise.race(sessions.map(({ draining }) => draining));
    const next = sessions.map(({ takesCalls }) => takesCalls);
    expect(next).toEqual(expect.arrayContaining([false, true]));
    const answers = await Promise.all(connections.map((connection) => connection.unary(pid, undefined)));
    for (const [index, stays] of next.entries()) expect(answers[index] === said.pids[0]).toBe(stays);
  });

  it("take new clients while one drains, also where there is one alone", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0", workers: 1 });
    const [url] = said.urls;
    const busy = await dialled(url);
    let settled = false;
    const call = busy.unary(slow, 60_000).finally(() => (settled = true));
    call.catch(() => {});
    child.send("restart");
    const next = await connected(url);
    let answered = said.pids[0];
    while (answered === said.pids[0]) answered = await next.unary(pid, undefined);
    expect(settled).toBe(false);
  });

  it.each([
    ["of the engine's own", {}],
    ["that a balancer routes by", { advanced: { connectionIds: { serverId: "0x0102" } } }],
  ])("end the sessions of one that died as it drained, whose place nobody takes: ids %s", async (_, ids) => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0", workers: 1, ...ids });
    const [url] = said.urls;
    const busy = await dialled(url);
    const call = busy.unary(slow, 60_000);
    call.catch(() => {});
    child.send("restart");
    const next = await connected(url);
    while ((await next.unary(pid, undefined)) === said.pids[0]);
    process.kill(said.pids[0] as number, "SIGKILL");
    await expect(call).rejects.toThrow("stateless reset");
  });

  it("go on where the program that is to follow them cannot serve", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0", workers: 1 });
    const failed = hear<{ restart: string }>(child, "restart");
    child.send("break");
    expect((await failed).restart).toContain("exit code 1");
    const session = await dialled(said.urls[0]);
    expect(await session.unary(pid, undefined)).toBe(said.pids[0]);
  });

  it.runIf(process.platform === "linux")(
    "are one for each place, also where one dies as they are restarted",
    async () => {
      const { child, said } = await group({ listen: "quic://127.0.0.1:0" });
      const told = hear<{ error: string }>(child, "error");
      process.kill(said.pids[0] as number, "SIGKILL");
      await told;
      const { pids } = await ask(child, "restart");
      const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
      expect(children.trim().split(" ").map(Number)).toEqual(expect.arrayContaining([...pids]));
      expect(children.trim().split(" ")).toHaveLength(SIZE);
      expect(pids).toHaveLength(SIZE);
    },
  );

  it("are replaced when their own program ends their server, and get no clients meanwhile", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0" });
    const [leaver] = said.pids;
    const told = hear<{ error: string }>(child, "error");
    process.kill(leaver as number, "SIGTERM");
    expect((await told).error).toContain(`(process ${leaver}) ended: exit code 0`);
    const sessions = await Promise.all(Array.from({ length: 12 }, () => dialled(said.urls[0])));
    for (const worker of await Promise.all(sessions.map((session) => session.unary(pid, undefined)))) {
      expect(worker).not.toBe(leaver);
    }
  });

  it("end with the process that keeps them: drained by SIGTERM, with calls answered", async () => {
    const { child, said } = await group({ listen: ["quic://127.0.0.1:0", "tls://127.0.0.1:0"] });
    const sessions = await Promise.all([...said.urls, ...said.urls].map(dialled));
    const calls = sessions.map((session) => session.unary(slow, 200));
    await Promise.all(sessions.map((session) => session.ping()));
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    for (const worker of await Promise.all(calls)) expect(said.pids).toContain(worker);
    expect(await ended).toEqual([0, null]);
    for (const worker of said.pids) expect(() => process.kill(worker, 0)).toThrow("ESRCH");
  });

  it("end in silence where the process that keeps them is killed as it starts them", async () => {
    const { cert, key } = certificate;
    const options = { tls: { cert, key }, workers: 1, listen: "quic://127.0.0.1:0" };
    const child = spawn(process.execPath, [fileURLToPath(PROGRAM), JSON.stringify({ options, dies: true })], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (text) => (errors += String(text)));
    // When its worker, which has inherited the stream, has ended as well.
    await once(child.stderr, "close");
    expect([child.signalCode, errors]).toEqual(["SIGKILL", ""]);
  });

  it("hand on nothing of what makes them workers to processes that they start", async () => {
    const { said } = await group({ listen: "quic://127.0.0.1:0", workers: 1 });
    const session = await dialled(said.urls[0]);
    expect(await session.unary(inherited, undefined)).toEqual([process.execArgv, null]);
  });

  it("add up what they hold", async () => {
    const { child, said } = await group({ listen: "quic://127.0.0.1:0" });
    await Promise.all(Array.from({ length: 7 }, () => dialled(said.urls[0])));
    let sessions = 0;
    while (sessions !== 7) ({ sessions } = (await ask(child, "say")).stats);
  });

  it("fail together, with the error of one", async () => {
    const taken = createSocket("udp4").bind(0, "127.0.0.1");
    await once(taken, "listening");
    open.push(taken);
    const { port } = taken.address();
    expect(await hear(start({ listen: `quic://127.0.0.1:${port}` }), "failed")).toMatchObject({
      failed: {
        name: "TransportError",
        code: "EADDRINUSE",
        message: expect.stringContaining(`quic://127.0.0.1:${port}`),
      },
    });
    expect(await hear(start({ listen: "quic://127.0.0.1:0", tls: { cert: "x", key: "y" } }), "failed")).toMatchObject({
      failed: { name: "TransportError", code: "ERR_QUIC_INVALID_OPTION" },
    });
  });

  it("are as many as one may have", async () => {
    for (const workers of [0, 1.5, 128, "all"] as number[]) {
      await expect(serve({ workers, routers: [] })).rejects.toThrow(
        `the option workers must be "auto" or an integer from 1 to 127`,
      );
    }
  });
});
