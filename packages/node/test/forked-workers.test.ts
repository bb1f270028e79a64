import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createSession, type Session } from "@quicrpc/core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, dial, serve, type SharedPortOptions, shareUdpPorts } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";
import { beforeAll, describe, expect, it } from "vitest";
import { startProgram } from "../../../test/child-program.js";
import { closedAfterEach } from "../../../test/open.js";
import { type RoomItem, roomMethods } from "../../../test/rooms.js";

const PROGRAM = new URL("forked-workers.program.ts", import.meta.url);
const SIZE = 3;
const LISTEN = "quic://127.0.0.1:0";

const service = { name: "test.v1.Forked", id: 7052 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec<number>() });
const drain = defineMethod(service, "notify", "drain", { id: 3 });
const crash = defineMethod(service, "notify", "crash", { id: 4 });
const slow = defineMethod(service, "unary", "slow", { id: 5 });

interface Workers {
  readonly child: ChildProcess;
  readonly port: number;
  readonly pids: readonly number[];
}

let certificate: Awaited<ReturnType<typeof devCertificate>>;
beforeAll(async () => {
  certificate = await devCertificate();
});

const open = closedAfterEach();

interface Message {
  readonly ports?: readonly [number];
  readonly pids?: readonly number[];
  readonly failed?: string;
}

interface Options {
  readonly shared?: object;
  readonly served?: object;
  readonly stdio?: "replaced";
}

async function start(
  steering: string,
  { shared, served, stdio }: Options = {},
): Promise<{ readonly child: ChildProcess; readonly message: Message }> {
  const { cert, key } = certificate;
  const { child, message } = await startProgram<Message>(PROGRAM, {
    steering,
    size: SIZE,
    shared: { listen: LISTEN, places: SIZE + 1, ...shared },
    served: { listen: LISTEN, tls: { cert, key }, ...served },
    stdio,
  });
  open.push({
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  });
  return { child, message };
}

async function workers(steering: string, options?: Options): Promise<Workers> {
  const { child, message } = await start(steering, options);
  const { ports: [port] = [], pids } = message;
  if (port === undefined || pids === undefined) throw new Error(message.failed);
  return { child, port, pids };
}

async function dialled(port: number): Promise<Session> {
  const session = await dial(`quic://127.0.0.1:${port}`, { serverCertificateHashes: [certificate.hash] });
  open.push(session);
  return session;
}

/** Sessions with all workers, by their process ids. */
async function withEach(port: number): Promise<Map<number, Session>> {
  const found = new Map<number, Session>();
  while (found.size < SIZE) {
    const session = await dialled(port);
    found.set(await session.unary(pid, undefined), session);
  }
  return found;
}

// On Windows processes have no signals by which these tests end them.
const forked = describe
  .skipIf(process.platform === "win32")
  .each(process.platform === "linux" ? (["kernel", "relay"] as const) : (["relay"] as const));

forked("workers that a program forks by node:cluster itself, steering %s", (steering) => {
  it.each([
    ["", {}],
    [", with ids that a balancer routes by", { connectionIds: { serverId: "0x0102" } }],
  ])("share a UDP port, and keep clients whose addresses change%s", async (_, ids) => {
    const { port, pids } = await workers(steering, { shared: ids, served: { advanced: ids } });
    expect(pids).toHaveLength(SIZE);
    await withEach(port);
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
    for (let moves = 0; moves < 25; moves++) {
      await Promise.all(
        clients.map(async ({ endpoint, session, worker }) => {
          const calls = Array.from({ length: 4 }, () => session.unary(pid, undefined));
          endpoint.rebind();
          expect(new Set(await Promise.all([...calls, session.unary(pid, undefined)]))).toEqual(new Set([worker]));
        }),
      );
    }
  });

  it.each([
    ["of the engine's own", {}],
    ["that a balancer routes by", { connectionIds: { serverId: "0x0102" } }],
  ])("one that dies: its clients are told, the others' notice nothing: ids %s", async (_, ids) => {
    const { child, port } = await workers(steering, { shared: ids, served: { advanced: ids } });
    const sessions = await withEach(port);
    const [[victim, lost], ...others] = [...sessions] as [[number, Session], ...[number, Session][]];
    const call = lost.unary(slow, undefined);
    call.catch(() => {});
    const replaced = once(child, "message") as Promise<[Message]>;
    lost.notify(crash, undefined).catch(() => {});
    await expect(call).rejects.toThrow("stateless reset");
    const [{ pids }] = await replaced;
    expect(pids).not.toContain(victim);
    for (const [worker, session] of others) expect(await session.unary(pid, undefined)).toBe(worker);
    expect(new Set((await withEach(port)).keys())).toEqual(new Set(pids));
  });

  it("one that drains gets no new clients", async () => {
    const { child, port } = await workers(steering);
    const [[leaver, leaving]] = [...(await withEach(port))] as [[number, Session]];
    // It does not end before this call does.
    leaving.unary(slow, undefined).catch(() => {});
    const left = once(child, "message");
    leaving.notify(drain, undefined).catch(() => {});
    expect(await left).toEqual([{ left: leaver }, undefined]);
    for (let i = 0; i < 12; i++) expect(await (await dialled(port)).unary(pid, undefined)).not.toBe(leaver);
  });

  it("topics reach the clients of all", async () => {
    const { port } = await workers(steering);
    const sessions = [...(await withEach(port)).values()] as [Session, Session, Session];
    const subscribers = await Promise.all(sessions.map(subscribed));
    await sessions[0].unary(roomMethods.publishRoom, { id: "1", message: { n: 1, text: "" } });
    for (const items of subscribers) expect(await items.next()).toMatchObject({ value: { message: { n: 1 } } });
  });

  it.each([
    ["serves other ports", { served: { listen: [LISTEN, "https://127.0.0.1:0"] } }, "the same `listen`"],
    ["has other connection ids", { served: { advanced: { connectionIds: { serverId: "0x02" } } } }, "`connectionIds`"],
    ["finds every place taken", { shared: { places: SIZE - 1 } }, "a larger `places`"],
  ])("one that %s is told so", async (_, options, text) => {
    const { message } = await start(steering, options);
    expect(message.failed).toContain("TypeError: ");
    expect(message.failed).toContain(text);
  });
});

it.runIf(process.platform === "linux")("a worker whose sockets another stdio has replaced is told so", async () => {
  const { message } = await start("kernel", { stdio: "replaced" });
  expect(message.failed).toContain("before shareUdpPorts()");
});

it.each<[SharedPortOptions, string]>([
  [{ places: 0 }, "from 1 to 128"],
  [{ listen: "tls://127.0.0.1:0" }, "itself shares TCP ports"],
  [{ listne: LISTEN } as SharedPortOptions, "listne"],
])("what cannot be shared is said: %s", async (options, text) => {
  await expect(shareUdpPorts(options)).rejects.toThrow(text);
});

it("a process shares ports or has serve({ workers }), and once", async () => {
  const shared = await shareUdpPorts({ listen: LISTEN });
  await expect(shareUdpPorts({ listen: LISTEN })).rejects.toThrow("once in a process");
  const { cert, key } = certificate;
  const served = serve({ workers: 1, listen: LISTEN, tls: { cert, key }, routers: [] });
  await expect(served).rejects.toThrow("cannot be used in the same process");
  shared.close();
  const again = await shareUdpPorts({ listen: `quic://127.0.0.1:${shared.ports[0]}` });
  expect(again.ports).toEqual(shared.ports);
  again.close();
});

/** Subscribes; what is published from then on arrives. */
async function subscribed(session: Session): Promise<AsyncIterator<RoomItem>> {
  let items: AsyncIterable<RoomItem> | undefined;
  await new Promise<void>((resolve) => {
    items = session.serverStream(roomMethods.subscribeRoom, { id: "1" }, { onResponseMetadata: () => resolve() });
  });
  return (items as AsyncIterable<RoomItem>)[Symbol.asyncIterator]();
}
