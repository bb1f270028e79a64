import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import type { RpcError } from "../errors.js";
import { interceptCaller } from "../interceptors/intercept-caller.js";
import { createRouter } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import type { Session } from "../session/session.js";
import { createMemoryPair } from "../transport/memory.js";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.js";
import { LiveLog } from "../../test/live-log.js";
import { meanwhile, pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Cursors", id: 78 };

interface Entry {
  readonly id: number;
  readonly before?: number | null;
}

const methods = {
  follow: defineMethod(service, "server_stream", "follow", {
    id: 1,
    output: uncheckedCodec<Entry>(),
    cursor: { field: "id", predecessor: "before" },
  }),
};

/** Several servers that stream the same log, and the sessions to them. */
class Servers {
  readonly sessions: Session[] = [];
  /** Value of `resumeFrom` in each call of the handler. */
  readonly froms: (string | undefined)[] = [];
  readonly log: LiveLog = new LiveLog();
  /** Ids of log entries that the handler skips, to simulate missing items. */
  readonly skip: Set<number> = new Set();
  readonly dial = async (): Promise<Session> => {
    const [ours, theirs] = createMemoryPair();
    const router = createRouter(methods, {
      follow: (_, { resumeFrom, signal }) => this.read(resumeFrom, signal),
    });
    this.sessions.push(createSession(theirs, { routers: [router] }));
    return createSession(ours);
  };

  get latest(): Session {
    return this.sessions.at(-1) as Session;
  }

  private async *read(from: string | undefined, signal: AbortSignal): AsyncGenerator<Entry> {
    this.froms.push(from);
    for await (const id of this.log.read(Number(from ?? 0), signal)) {
      if (!this.skip.has(id)) yield { id, before: id === 1 ? null : id - 1 };
    }
  }
}

let servers: Servers;
let connection: Connection;
beforeEach(() => {
  startVirtualTime();
  servers = new Servers();
});
afterEach(async () => {
  await connection.close({ closeCode: 1 });
  await pass(0);
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  if (servers.log.readers > 0) throw new Error(`${servers.log.readers} handlers are left`);
  vi.useRealTimers();
});

function connected(options: ConnectionOptions = {}): Connection {
  connection = createConnection(servers.dial, options);
  return connection;
}

async function take(stream: AsyncIterator<Entry>, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) taken.push(((await stream.next()).value as Entry).id);
  return taken;
}

async function lose(): Promise<void> {
  void servers.latest.close({ closeCode: 9, reason: "lost" });
  await pass(0);
}

describe("a stream whose items have cursors", () => {
  it("says where to go on when its reader leaves: after the last item that it took, whatever has arrived", async () => {
    const stream = connected().serverStream(methods.follow, undefined);
    servers.log.append(5);
    for await (const { id } of stream) {
      await pass(0);
      if (id === 2) break;
    }
    expect(stream.cursor).toBe("2");
    const read = connection.serverStream(methods.follow, undefined);
    const reader = read.getReader();
    await reader.read();
    await pass(0);
    await reader.cancel();
    expect(read.cursor).toBe("1");
  });

  it("goes on after the last item on the next session", async () => {
    const stream = connected().serverStream(methods.follow, undefined);
    const items = stream.values();
    servers.log.append(3);
    expect(await take(items, 2)).toEqual([1, 2]);
    expect(stream.cursor).toBe("2");
    await lose();
    servers.log.append(2);
    await pass(1000);
    expect(await take(items, 3)).toEqual([3, 4, 5]);
    expect(stream.cursor).toBe("5");
    expect(servers.froms).toEqual([undefined, "3"]);
    await items.return();
  });

  it("goes on also where it was lost before its first item, and again and again", async () => {
    const items = connected().serverStream(methods.follow, undefined).values();
    await pass(0);
    for (let i = 0; i < 3; i++) {
      await lose();
      await pass(1000);
    }
    servers.log.append(1);
    expect(await take(items, 1)).toEqual([1]);
    expect(servers.froms).toEqual([undefined, undefined, undefined, undefined]);
    await items.return();
  });

  it("begins where the caller says, so that a page goes on after it was loaded again", async () => {
    servers.log.append(5);
    const items = connected().serverStream(methods.follow, undefined, { from: "3" }).values();
    expect(await take(items, 2)).toEqual([4, 5]);
    await items.return();
  });

  it("moves when the server drains, as soon as there is another session", async () => {
    const items = connected().serverStream(methods.follow, undefined).values();
    servers.log.append(2);
    expect(await take(items, 1)).toEqual([1]);
    const drained = servers.latest.drain();
    await pass(0);
    await drained;
    expect(servers.sessions).toHaveLength(2);
    servers.log.append(1);
    expect(await take(items, 2)).toEqual([2, 3]);
    expect(servers.froms).toEqual([undefined, "2"]);
    await items.return();
  });

  it("fails where items are missing", async () => {
    const stream = connected().serverStream(methods.follow, undefined);
    servers.skip.add(2);
    servers.log.append(3);
    const items = stream.values();
    expect(await take(items, 1)).toEqual([1]);
    await expect(items.next()).rejects.toMatchObject({ code: "data_loss", reason: "CURSOR_GAP" });
  });

  it("is shown to wait in the connection's state", async () => {
    const items = connected().serverStream(methods.follow, undefined).values();
    servers.log.append(1);
    await take(items, 1);
    await lose();
    expect(connection.state).toMatchObject({ status: "connecting", resuming: 1 });
    await pass(1000);
    expect(connection.state).toEqual({ status: "ready" });
    await items.return();
  });

  it("ends with the connection, its deadline or its signal while it waits", async () => {
    connected();
    const abort = new AbortController();
    const streams = [
      connection.serverStream(methods.follow, undefined),
      connection.serverStream(methods.follow, undefined, { timeoutMs: 20 }),
      connection.serverStream(methods.follow, undefined, { signal: abort.signal }),
    ];
    const errors = streams.map((stream) =>
      stream
        .values()
        .next()
        .then(String, (error: RpcError) => error.code),
    );
    await pass(0);
    await lose();
    abort.abort();
    await pass(20);
    expect(await errors[1]).toBe("deadline_exceeded");
    expect(await errors[2]).toBe("cancelled");
    expect(connection.state).toMatchObject({ resuming: 1 });
    await connection.close();
    expect(await errors[0]).toBe("unavailable");
    expect(connection.state).toEqual({ status: "closed" });
  });

  it("fails for good once `resumeForMs` is over", async () => {
    connected({ backoff: { initialMs: 10_000 }, limits: { maxQueuedMs: 100 } });
    const items = connection.serverStream(methods.follow, undefined, { resumeForMs: 1000 }).values();
    await pass(0);
    await lose();
    const error = items.next().catch((thrown: unknown) => thrown);
    await pass(3000);
    expect(await error).toMatchObject({ code: "unavailable" });
  });

  it("of a session alone fails with it, and says where it was", async () => {
    connected();
    const session = await servers.dial();
    const stream = session.serverStream(methods.follow, undefined);
    const items = stream.values();
    servers.log.append(1);
    await take(items, 1);
    void session.close();
    await expect(items.next()).rejects.toMatchObject({ code: "unavailable" });
    expect(stream.cursor).toBe("1");
  });

  it("passes interceptors anew for each attempt", async () => {
    connected();
    let calls = 0;
    const caller = interceptCaller(connection, [
      (call, next) => {
        calls++;
        return next(call);
      },
    ]);
    const items = caller.serverStream(methods.follow, undefined).values();
    servers.log.append(1);
    await take(items, 1);
    await lose();
    servers.log.append(1);
    await pass(1000);
    expect(await take(items, 1)).toEqual([2]);
    expect(calls).toBe(2);
    await items.return();
  });
});

/** Expected state: every item up to the last one that was read must have arrived. */
interface Model {
  length: number;
  taken: number;
}

/** The connection under test and its stream, which the test reads in parts. */
interface Real {
  readonly items: AsyncIterator<Entry>;
  readonly stream: { readonly cursor: string | undefined };
}

type Step = fc.AsyncCommand<Model, Real>;

const step = (name: string, run: (model: Model, real: Real) => Promise<unknown>): Step => ({
  check: () => true,
  run: async (model, real) => void (await run(model, real)),
  toString: () => name,
});

/** Reads at most `most` available items, and compares them with the expected ones. */
async function takeSome(model: Model, { items, stream }: Real, most: number): Promise<void> {
  for (let count = Math.min(most, model.length - model.taken); count > 0; count--) {
    const came: IteratorResult<Entry>[] = [];
    void items.next().then((result) => came.push(result));
    for (let waits = 0; came.length === 0 && waits < 50; waits++) await pass(200);
    expect(came[0]?.value).toMatchObject({ id: model.taken + 1 });
    model.taken++;
    expect(stream.cursor).toBe(String(model.taken));
  }
}

const steps = [
  fc.integer({ min: 1, max: 300 }).map((count) =>
    step(`append ${count}`, async (model) => {
      model.length += count;
      servers.log.append(count);
    }),
  ),
  fc.integer({ min: 1, max: 200 }).map((most) => step(`take ${most}`, (model, real) => takeSome(model, real, most))),
  fc.constant(step("kill", async () => lose())),
  fc.constant(step("kill in the middle", async () => void servers.sessions.at(-1)?.close({ closeCode: 3 }))),
  fc.constant(step("drain", async () => void servers.sessions.at(-1)?.drain())),
  fc.constant(step("lose here", async () => void connection.session?.close())),
  fc.integer({ min: 0, max: 500 }).map((ms) => step(`pass ${ms}`, () => pass(ms))),
];

it("whatever becomes of sessions, every item arrives once and in order, and nothing is left", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 30 }), async (commands) => {
      servers = new Servers();
      connected();
      await meanwhile(connection.ready());
      const model: Model = { length: 0, taken: 0 };
      const stream = connection.serverStream(methods.follow, undefined);
      const items = stream.values();
      await fc.asyncModelRun(() => ({ model, real: { items, stream } }), commands);
      await takeSome(model, { items, stream }, Number.POSITIVE_INFINITY);
      await meanwhile(items.return());
      await meanwhile(connection.close());
      await pass(100);
      expect(servers.log.readers).toBe(0);
      expect(vi.getTimerCount()).toBe(0);
      expect(connection.state).toEqual({ status: "closed" });
    }),
    { numRuns: 60 },
  );
});
