import { type ChildProcess, spawn } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server as NetServer } from "node:net";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSession, type Connection, type Session } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { Endpoint, type GroupMember, PortGroup } from "@quicrpc/quic";
import { connect, devCertificate, dial, serve } from "@quicrpc/node";
import { beforeAll, describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../test/open.js";
import { trustOf } from "./trust.js";

const PROGRAM = fileURLToPath(new URL("systemd.program.mjs", import.meta.url));
const service = { name: "test.v1.Passed", id: 7060 };
const number = uncheckedCodec<number>();
const pid = defineMethod(service, "unary", "pid", { id: 1, idempotent: true, output: number });
const slow = defineMethod(service, "unary", "slow", { id: 2, idempotent: true, input: number, output: number });

interface Told {
  readonly urls?: readonly [string, ...string[]];
  readonly pid?: number;
  readonly pids?: readonly number[];
  readonly failed?: { readonly message: string; readonly code?: string; readonly hint?: string };
  readonly warning?: { readonly code: string; readonly message: string };
}

let certificate: Awaited<ReturnType<typeof devCertificate>>;
beforeAll(async () => {
  certificate = await devCertificate();
});

const open = closedAfterEach();

/** A process that has these sockets as one has that systemd starts: from descriptor 3 on, under the number that `exec` keeps. */
class Passed {
  readonly child: ChildProcess;
  readonly warnings: string[] = [];
  private readonly told: Told[] = [];
  private wake: () => void = () => {};

  constructor(descriptors: readonly number[], names: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn("sh", ["-c", `LISTEN_PID=$$ exec "${process.execPath}" "${PROGRAM}"`], {
      stdio: ["ignore", "inherit", "inherit", ...descriptors, "ipc"],
      env: { ...process.env, LISTEN_FDS: String(descriptors.length), LISTEN_FDNAMES: names.join(":"), ...env },
    });
    this.child.on("message", (message: Told) => {
      if (message.warning !== undefined) this.warnings.push(message.warning.code);
      this.told.push(message);
      this.wake();
    });
    open.push({ close: () => this.end("SIGKILL") });
  }

  /** Serves, or says why it cannot. */
  async serve(options: object): Promise<Told> {
    await this.next(() => true);
    const { cert, key } = certificate;
    this.child.send({ tls: { cert, key }, ...options });
    return this.next(({ urls, failed }) => (urls ?? failed) !== undefined);
  }

  /** What a primary's workers are now. */
  async say(): Promise<Told> {
    this.child.send({ say: true });
    return this.next(({ pids, urls }) => pids !== undefined && urls === undefined);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill(signal);
    await once(this.child, "exit");
  }

  private async next(isIt: (told: Told) => boolean): Promise<Told> {
    for (;;) {
      const found = this.told.find(isIt);
      if (found !== undefined) return this.told.splice(this.told.indexOf(found), 1)[0] as Told;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

/** A UDP port as a `.socket` unit with so many `ListenDatagram=` lines and `ReusePort=yes` binds it. */
function boundPort(sockets: number): { readonly url: string; readonly descriptors: readonly number[] } {
  const bound = PortGroup.bind({ host: "127.0.0.1", places: sockets });
  open.push(bound);
  return {
    url: `quic://127.0.0.1:${bound.port}`,
    descriptors: bound.members.flatMap(({ descriptor }) => descriptor ?? []),
  };
}

/** A socket that listens, and is somebody else's to accept from. */
async function boundStream(where: object): Promise<{ readonly server: NetServer; readonly descriptor: number }> {
  const server = createServer();
  server.listen(where);
  await once(server, "listening");
  open.push({ close: () => void server.close() });
  const { _handle: handle } = server as unknown as { readonly _handle: { readonly fd: number } };
  return { server, descriptor: handle.fd };
}

/** From now on those accept that the socket was passed to. Node removes the path of a Unix socket that it closes. */
async function closedHere(server: NetServer, path?: string): Promise<void> {
  if (path !== undefined) await rename(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  if (path !== undefined) await rename(`${path}.kept`, path);
}

async function connected(url: string): Promise<Connection> {
  const connection = await connect(url, trustOf(url, certificate));
  open.push(connection);
  return connection;
}

/** A session whose client can change its address. */
async function movingSession(url: string): Promise<{ readonly endpoint: Endpoint; readonly session: Session }> {
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  open.push(endpoint);
  const where = { host: "127.0.0.1", port: Number(new URL(url).port), alpn: ["quicrpc/1"] };
  const tls = { serverCertificateHashes: [certificate.hash] };
  return { endpoint, session: createSession(await endpoint.connect({ ...where, tls })) };
}

async function pidAt(url: string): Promise<number> {
  await using session = await dial(url, trustOf(url, certificate));
  return await session.unary(pid, undefined);
}

const WORKERS = 2;

/** A port for two processes of workers, each with a socket more for restarts. */
function portOfWorkers(): ReturnType<typeof boundPort> & { readonly names: readonly string[] } {
  const sockets = 2 * (WORKERS + 1);
  return { ...boundPort(sockets), names: Array.from({ length: sockets }, () => "quic") };
}

/** The processes that new clients find: as many clients as it takes for all workers. */
async function pidsAt(url: string): Promise<Set<number>> {
  const pids = new Set<number>();
  for (let clients = 0; clients < 100 && pids.size < WORKERS; clients++) pids.add(await pidAt(url));
  return pids;
}

describe.skipIf(process.platform !== "linux")("sockets that systemd passes", () => {
  it("are served over QUIC, and found again by the process that follows one that died", async () => {
    const { url, descriptors } = boundPort(1);
    const first = new Passed(descriptors, ["quic"]);
    const { urls, pid: firstPid } = await first.serve({ listen: "systemd:" });
    expect(urls).toEqual([url]);
    const connection = await connected(url);
    expect(await connection.unary(pid, undefined)).toBe(firstPid);
    await first.end("SIGKILL");
    const next = new Passed(descriptors, ["quic"]);
    const told = await next.serve({ listen: "systemd:quic" });
    // What was sent to nobody waits in the socket. The first call may find the session gone.
    await connection.unary(pid, undefined).catch(() => {});
    expect(await connection.unary(pid, undefined)).toBe(told.pid);
    expect(next.warnings).toEqual([]);
  });

  it("have one process follow another without a call lost, while clients change their addresses", async () => {
    const { url, descriptors } = boundPort(2);
    const names = ["quic", "quic"];
    const first = new Passed(descriptors, names);
    const { pid: firstPid } = await first.serve({ listen: "systemd:" });
    const connections = await Promise.all(Array.from({ length: 8 }, () => connected(url)));
    const over = new AbortController();
    const calling = connections.map(async (connection) => {
      const pids = new Set<number>();
      while (!over.signal.aborted) pids.add(await connection.unary(slow, 3));
      return pids;
    });
    const { endpoint, session: moving } = await movingSession(url);
    expect(await moving.unary(pid, undefined)).toBe(firstPid);

    const next = new Passed(descriptors, names);
    const { pid: nextPid } = await next.serve({ listen: "systemd:" });
    for (let clients = 0; clients < 10; clients++) expect(await pidAt(url)).toBe(nextPid);
    for (let moves = 0; moves < 10; moves++) {
      endpoint.rebind();
      expect(await moving.unary(pid, undefined)).toBe(firstPid);
    }
    await moving.close();
    await first.end("SIGTERM");
    expect(first.child.exitCode).toBe(0);
    for (const connection of connections) expect(await connection.unary(pid, undefined)).toBe(nextPid);
    over.abort();
    for (const pids of await Promise.all(calling)) expect(pids).toEqual(new Set([firstPid, nextPid]));

    const last = new Passed(descriptors, names);
    const { pid: lastPid } = await last.serve({ listen: "systemd:" });
    expect(await pidAt(url)).toBe(lastPid);
  });

  it("end the sessions of a process that died when another takes a place", async () => {
    const { url, descriptors } = boundPort(2);
    const names = ["quic", "quic"];
    const first = new Passed(descriptors, names);
    await first.serve({ listen: "systemd:" });
    const second = new Passed(descriptors, names);
    const { pid: secondPid } = await second.serve({ listen: "systemd:" });
    const connection = await connected(url);
    expect(await connection.unary(pid, undefined)).toBe(secondPid);
    await first.end("SIGTERM");
    await second.end("SIGKILL");
    // It takes the first place, and nobody has the second.
    const third = new Passed(descriptors, names);
    const { pid: thirdPid } = await third.serve({ listen: "systemd:" });
    await connection.unary(pid, undefined).catch(() => {});
    expect(await connection.unary(pid, undefined)).toBe(thirdPid);
  });

  it("are refused to a process for which none is left, and those that serve go on", async () => {
    const { url, descriptors } = boundPort(1);
    const first = new Passed(descriptors, ["quic"]);
    const { pid: firstPid } = await first.serve({ listen: "systemd:" });
    const second = new Passed(descriptors, ["quic"]);
    const { failed } = await second.serve({ listen: "systemd:" });
    expect(failed).toMatchObject({ code: "EADDRINUSE", hint: expect.stringContaining("ListenDatagram=") });
    expect(await pidAt(url)).toBe(firstPid);
  });

  it.each(["tls", "wss", "ws", "tcp", "unix"])("are served as %s://, by two processes in turn", async (scheme) => {
    const folder = await mkdtemp(join(tmpdir(), "quicrpc-"));
    open.push({ close: () => rm(folder, { recursive: true }) });
    const path = join(folder, "socket");
    const { server, descriptor } = await boundStream(scheme === "unix" ? { path } : { host: "127.0.0.1", port: 0 });
    const first = new Passed([descriptor], [scheme]);
    const next = new Passed([descriptor], [scheme]);
    const listen = scheme.startsWith("ws") ? `systemd:${scheme}/rpc` : "systemd:";
    const { urls, pid: firstPid, failed } = await first.serve({ listen });
    expect(failed).toBeUndefined();
    const [url] = urls ?? [""];
    expect(new URL(url).pathname).toBe({ unix: path, wss: "/rpc", ws: "/rpc" }[scheme] ?? "");
    await closedHere(server, scheme === "unix" ? path : undefined);
    const connection = await connected(url);
    expect(await connection.unary(pid, undefined)).toBe(firstPid);
    const { pid: nextPid } = await next.serve({ listen });
    await first.end("SIGTERM");
    expect(await connection.unary(pid, undefined)).toBe(nextPid);
    expect(await pidAt(url)).toBe(nextPid);
  });

  it("have the port over TCP beside that over UDP", async () => {
    const { url, descriptors } = boundPort(1);
    const { port } = new URL(url);
    const { server, descriptor } = await boundStream({ host: "127.0.0.1", port: 0 });
    const process = new Passed([...descriptors, descriptor], ["quic", "quic"]);
    const { urls = [], pid: own } = await process.serve({ listen: "systemd:quic", webSocket: true });
    const beside = (server.address() as { readonly port: number }).port;
    server.close();
    expect(urls.map((each) => new URL(each).port)).toEqual([port, String(beside)]);
    for (const each of urls) expect(await pidAt(each)).toBe(own);
  });

  it("keep the buffers that they were given, and are one endpoint's at a time", async () => {
    const socket = createSocket("udp4");
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    open.push({ close: () => void socket.close() });
    socket.setRecvBufferSize(100_000);
    const given = socket.getRecvBufferSize();
    const passed = { descriptors: [descriptorOf(socket)] };
    const first = PortGroup.inherit(passed);
    expect(first.port).toBe(socket.address().port);
    const endpoint = Endpoint.bind({ host: "127.0.0.1", member: first.members[0] as GroupMember });
    expect(socket.getRecvBufferSize()).toBe(given);
    expect(() => PortGroup.inherit(passed)).toThrow(expect.objectContaining({ code: "EADDRINUSE" }));
    await endpoint.close();
    first.close();
    PortGroup.inherit(passed).close();
  });

  it.each([
    ["systemd:wss", ["quic"], 'no socket called "wss"'],
    ["systemd:", ["orders.socket"], "FileDescriptorName=quic"],
    ["systemd:", ["tls"], "ListenStream="],
  ])("of %s called %s are refused where they cannot be that", async (listen, names, message) => {
    const { descriptors } = boundPort(1);
    const { failed } = await new Passed(descriptors, names).serve({ listen });
    expect(failed?.message).toContain(message);
  });

  it("have new clients go to the process that came last, whatever happens to the workers of the one before", async () => {
    const { url, descriptors, names } = portOfWorkers();
    const first = new Passed(descriptors, names);
    const { pids: before = [] } = await first.serve({ listen: "systemd:", workers: WORKERS });
    const next = new Passed(descriptors, names);
    const { pids: after = [] } = await next.serve({ listen: "systemd:", workers: WORKERS });
    const { session } = await movingSession(url);
    expect(after).toContain(await session.unary(pid, undefined));
    process.kill(before[0] as number, "SIGKILL");
    // By now the first process has replaced its worker.
    for (let replaced = false; !replaced; ) {
      const { pids = [] } = await first.say();
      replaced = pids.length === WORKERS && !pids.includes(before[0] as number);
    }
    for (let clients = 0; clients < 20; clients++) expect(after).toContain(await pidAt(url));
    await first.end("SIGTERM");
    expect(first.child.exitCode).toBe(0);
    for (let clients = 0; clients < 20; clients++) expect(after).toContain(await pidAt(url));
    expect(after).toContain(await session.unary(pid, undefined));
  });

  it("are served by workers, and another process of such follows without a call lost", async () => {
    const { url, descriptors, names } = portOfWorkers();
    const { server, descriptor } = await boundStream({ host: "127.0.0.1", port: 0 });
    const all = [
      [...descriptors, descriptor],
      [...names, "quic"],
    ] as const;
    const options = { listen: "systemd:", webSocket: true, workers: WORKERS };
    const first = new Passed(...all);
    const next = new Passed(...all);
    const { urls = [], pids: before = [], pid: primary } = await first.serve(options);
    await closedHere(server);
    expect(urls.map((each) => new URL(each).protocol)).toEqual(["quic:", "wss:"]);
    expect(urls[0]).toBe(url);
    const beside = urls[1] as string;
    expect(before).not.toContain(primary);
    for (const each of [url, beside]) expect(await pidsAt(each)).toEqual(new Set(before));

    const connections = await Promise.all(Array.from({ length: 8 }, (_, at) => connected(at % 2 === 0 ? url : beside)));
    const over = new AbortController();
    const calling = connections.map(async (connection) => {
      const pids = new Set<number>();
      while (!over.signal.aborted) pids.add(await connection.unary(slow, 3));
      return pids;
    });
    const { endpoint, session: moving } = await movingSession(url);
    const worker = await moving.unary(pid, undefined);
    const { pids: after = [] } = await next.serve(options);
    for (let clients = 0; clients < 10; clients++) expect(after).toContain(await pidAt(url));
    for (let moves = 0; moves < 10; moves++) {
      endpoint.rebind();
      expect(await moving.unary(pid, undefined)).toBe(worker);
    }
    await moving.close();
    await first.end("SIGTERM");
    expect(first.child.exitCode).toBe(0);
    for (const connection of connections) expect(after).toContain(await connection.unary(pid, undefined));
    over.abort();
    const known = new Set([...before, ...after]);
    for (const pids of await Promise.all(calling)) for (const each of pids) expect(known).toContain(each);
    for (const each of [url, beside]) expect(await pidsAt(each)).toEqual(new Set(after));
    expect([first.warnings, next.warnings]).toEqual([[], []]);
  });

  it.each(["tls", "wss", "unix"])("are kept where the only worker of %s:// dies", async (scheme) => {
    const folder = await mkdtemp(join(tmpdir(), "quicrpc-"));
    open.push({ close: () => rm(folder, { recursive: true }) });
    const where = scheme === "unix" ? { path: join(folder, "socket") } : { host: "127.0.0.1", port: 0 };
    const { server, descriptor } = await boundStream(where);
    const served = await new Passed([descriptor], [scheme]).serve({ listen: "systemd:", workers: 1 });
    const [url] = served.urls ?? [""];
    await closedHere(server, scheme === "unix" ? join(folder, "socket") : undefined);
    const connection = await connected(url);
    const first = await connection.unary(pid, undefined);
    expect(served.pids).toEqual([first]);
    process.kill(first, "SIGKILL");
    await connection.unary(pid, undefined).catch(() => {});
    const next = await connection.unary(pid, undefined);
    expect([first, served.pid]).not.toContain(next);
    expect(await pidAt(url)).toBe(next);
  });

  it("are more than the workers by one, or none serves", async () => {
    const { descriptors, names } = portOfWorkers();
    const passed = new Passed(descriptors.slice(0, WORKERS), names.slice(0, WORKERS));
    const { failed } = await passed.serve({ listen: "systemd:", workers: WORKERS });
    expect(failed).toMatchObject({ code: "EADDRINUSE", hint: expect.stringContaining("one more than workers") });
  });

  it("are refused in processes that systemd did not start", async () => {
    await expect(serve({ listen: "systemd:", routers: [] })).rejects.toThrow("LISTEN_FDS is not set");
  });
});

/** The descriptor of a UDP socket, which Node has for itself. */
function descriptorOf(socket: Socket): number {
  const symbols = Object.getOwnPropertySymbols(socket);
  const state = symbols.find(({ description }) => description === "state symbol") as keyof Socket;
  return (socket[state] as unknown as { readonly handle: { readonly fd: number } }).handle.fd;
}
