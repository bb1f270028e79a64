import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Endpoint, QuicSession, TransportOptions } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { ALPN, deferred, DRIVERS, onSessionEvents, readAll, World } from "./harness.js";

/** Serves one port of several and answers every stream with its own name. */
const MEMBER = `
  import { parentPort } from "node:worker_threads";
  import { Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
  const { NAME, PORT, CERT, KEY, SECRET, TICKETS } = process.env;
  const endpoint = Endpoint.bind({ host: "127.0.0.1", port: Number(PORT), reusePort: true, secret: Buffer.from(SECRET, "hex") });
  const tls = { cert: CERT, key: KEY };
  endpoint.listen({ alpn: ["test/1"], tls, ticketKeys: [Buffer.from(TICKETS, "hex")] }, (session) => session.attach({
    onStream: (stream) => stream.attach({ onData() {}, onEnd() { stream.write(Buffer.from(NAME), true); },
      onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {} }),
    onClosed() {},
  }));
  if (parentPort) parentPort.postMessage(endpoint.address.port);
  else process.send(endpoint.address.port);`;

interface Member {
  readonly port: number;
  /** Ends it without giving it a chance to say anything. */
  kill(): Promise<void>;
}

type Start = (env: NodeJS.ProcessEnv) => Promise<Member>;

const childProcess: Start = async (env) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", MEMBER], {
    env,
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr?.on("data", (text) => (errors += String(text)));
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", resolve as (port: unknown) => void);
    child.once("close", () => reject(new Error(`a member did not start: ${errors}`)));
  });
  return {
    port,
    kill() {
      child.kill("SIGKILL");
      return gone;
    },
  };
};

const thread: Start = async (env) => {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(MEMBER)}`), { env });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  return { port, kill: async () => void (await worker.terminate()) };
};

async function answer(session: QuicSession): Promise<string> {
  const stream = session.openStream();
  stream.write(new Uint8Array(0), true);
  return String(await readAll(stream));
}

function ending(session: QuicSession): Promise<Error | undefined> {
  const ended = deferred<Error | undefined>();
  session.attach(onSessionEvents({ onClosed: (_, error) => ended.resolve(error) }));
  return ended.promise;
}

/** For sessions that will not be answered. */
const SHORT: TransportOptions = { idleTimeoutMs: 1000 };

const KINDS = { processes: childProcess, "worker threads": thread };

describe.skipIf(process.platform !== "linux").each(DRIVERS)("several on one port, %s driver", (driver) => {
  let world: World;
  let members: Map<string, Member>;
  let port: number;
  let shared: NodeJS.ProcessEnv;

  beforeEach(async () => {
    world = new World(driver);
    members = new Map();
    port = 0;
    world.certificate = await certificate();
    shared = {
      ...process.env,
      QUICRPC_DRIVER: driver,
      CERT: world.certificate.cert,
      KEY: world.certificate.key,
      SECRET: randomBytes(32).toString("hex"),
      TICKETS: randomBytes(32).toString("hex"),
    };
  });
  afterEach(async () => {
    await Promise.all([...members.values()].map((member) => member.kill()));
    await world.close();
  });

  async function start(begin: Start, names: readonly string[]): Promise<void> {
    for (const name of names) {
      const member = await begin({ ...shared, NAME: name, PORT: String(port) });
      port = member.port;
      members.set(name, member);
    }
  }

  function dial(client: Endpoint = world.bind(), transport: TransportOptions = {}): Promise<QuicSession> {
    const hashes = [{ algorithm: "sha-256" as const, value: world.certificate.hash }];
    const tls = { serverCertificateHashes: hashes };
    return client.connect({ host: "127.0.0.1", port, alpn: ALPN, tls, earlyData: true, transport });
  }

  /** Kills the member that serves a session, and tells which one is left. */
  async function killServerOf(session: QuicSession): Promise<string | undefined> {
    const name = await answer(session);
    await members.get(name)?.kill();
    members.delete(name);
    return [...members.keys()][0];
  }

  test.each(Object.entries(KINDS))("%s share the clients, and each keeps its own", async (_, begin) => {
    await start(begin, ["a", "b", "c"]);
    const sessions = await Promise.all(Array.from({ length: 32 }, () => dial()));
    const first = await Promise.all(sessions.map(answer));
    // By chance one alone takes all once in 3^31 runs.
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await Promise.all(sessions.map(answer))).toEqual(first);
  });

  test("a process that is killed: its clients hear of it from the others, dial again, and resume", async () => {
    await start(childProcess, ["a", "b"]);
    const client = world.bind();
    const session = await dial(client);
    const ended = ending(session);
    const stream = session.openStream();
    const left = await killServerOf(session);
    // Its packets now go to the other process; an acknowledgement may have done so before.
    stream.write(new Uint8Array(1));
    expect(await ended).toMatchObject({
      code: "ERR_QUIC_TRANSPORT",
      message: expect.stringContaining("stateless reset"),
    });
    const again = await dial(client);
    expect(await answer(again)).toBe(left);
    expect(again.resumed).toBe(true);
  });

  test("a worker thread that is terminated closes its sessions", async () => {
    await start(thread, ["a", "b"]);
    const session = await dial();
    const ended = ending(session);
    const left = await killServerOf(session);
    expect(await ended).toBeUndefined();
    expect(await answer(await dial())).toBe(left);
  });

  test.each(Object.entries(KINDS))("%s: a client that moves to another is not reset by it", async (_, begin) => {
    await start(begin, ["a", "b"]);
    const client = world.bind();
    const session = await dial(client, SHORT);
    const name = await answer(session);
    const ended = ending(session);
    let heard = name;
    // Each new port goes to either by the kernel's hash; 64 to the same one, once in 2^64 runs.
    for (let move = 0; move < 64 && heard === name; move++) {
      client.rebind();
      heard = await Promise.race([answer(session).catch(() => "gone"), ended.then(() => "gone")]);
    }
    expect(heard).toBe("gone");
    expect(await ended).toMatchObject({ code: "ERR_QUIC_IDLE_TIMEOUT" });
    expect([...members.keys()]).toContain(await answer(await dial(client)));
  });

  test("one more process: the system spreads anew, and who is led elsewhere is not reset", async () => {
    await start(childProcess, ["a", "b"]);
    // None ends while the third process starts.
    const short = { ...SHORT, idleTimeoutMs: 2000, keepAliveIntervalMs: 200 };
    const sessions = await Promise.all(Array.from({ length: 32 }, () => dial(world.bind(), short)));
    const before = await Promise.all(sessions.map(answer));
    const ends = sessions.map(ending);
    await start(childProcess, ["c"]);
    const after = await Promise.all(
      sessions.map((session, at) => Promise.race([answer(session).catch(() => "gone"), ends[at]?.then(() => "gone")])),
    );
    for (const [at, heard] of after.entries()) {
      if (heard === "gone") expect(await ends[at]).toMatchObject({ code: "ERR_QUIC_IDLE_TIMEOUT" });
      else expect(heard).toBe(before[at]);
    }
    // All stay once in 3^32 runs at most.
    expect(after).toContain("gone");
  });
});
