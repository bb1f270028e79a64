// Where a call failed: its method, its peer, and the line that made it.
import {
  createConnection,
  createLocalCaller,
  createSession,
  interceptCaller,
  type Interceptor,
  logging,
  RpcError,
  type Session,
  type TypedCaller,
} from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createPool } from "@quicrpc/pool";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createReflection } from "@quicrpc/services";
import { afterEach, describe, expect, it } from "vitest";

const service = { name: "test.v1.Failing", id: 32 };
const number = uncheckedCodec<number>();
const methods = {
  fail: defineMethod(service, "unary", "fail", { id: 1, input: number, output: number }),
  never: defineMethod(service, "unary", "never", { id: 2, input: number, output: number }),
  items: defineMethod(service, "server_stream", "items", { id: 3, input: number, output: number }),
  sum: defineMethod(service, "client_stream", "sum", { id: 4, input: number, output: number }),
  note: defineMethod(service, "notify", "note", { id: 5, input: number }),
  talk: defineMethod(service, "duplex", "talk", { id: 6, input: number, output: number }),
};
const router = createRouter(methods, {
  fail: () => {
    throw new RpcError("not_found", "there is none");
  },
  never: () => new Promise<number>(() => {}),
  async *items(n) {
    yield n;
    throw new RpcError("not_found", "there are no more");
  },
  sum: () => {
    throw new RpcError("not_found", "there is none");
  },
  note: () => {},
  async *talk(numbers) {
    for await (const n of numbers) yield n;
    throw new RpcError("not_found", "there are no more");
  },
});

const opened: { close(): Promise<unknown> }[] = [];
const open = (): ReturnType<typeof createSession> => {
  const [near, far] = createMemoryPair();
  createSession(far, { routers: [router] });
  const session = createSession(near, { peer: "memory://server" });
  opened.push(session);
  return session;
};

const CALLERS: Record<string, () => TypedCaller> = {
  "a session": open,
  "a connection": () => {
    const connection = createConnection(async () => open());
    opened.push(connection);
    return connection;
  },
  "an intercepted connection": () => {
    const connection = createConnection(async () => open());
    opened.push(connection);
    const pass = Array.from({ length: 4 }, () => interceptCaller<TypedCaller>);
    return pass.reduce<TypedCaller>(
      (caller, around) => around(caller, [async (call, next) => await next(call)]),
      connection,
    );
  },
};

async function failureOf(call: () => Promise<unknown>): Promise<RpcError> {
  try {
    await call();
  } catch (error) {
    return error as RpcError;
  }
  return expect.unreachable();
}

describe.each(Object.entries(CALLERS))("an error of %s", (_name, make) => {
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });

  it("names the method, the peer and the line of the call", async () => {
    const caller = make();
    const error = await failureOf(async function makesTheCall() {
      await caller.unary(methods.fail, 1);
    });
    expect(error).toMatchObject({ code: "not_found", method: "test.v1.Failing/fail", peer: "memory://server" });
    expect(error.stack).toMatch(/^RpcError: there is none\n/);
    // Node shows the source of the first frame where a program ends by the error.
    expect(error.stack).not.toContain("rejectionAtCaller");
    expect(error.stack).toContain("makesTheCall");
  });

  it("does so where the call takes a stream", async () => {
    const caller = make();
    const error = await failureOf(async function makesTheCall() {
      await caller.clientStream(methods.sum, [1, 2]);
    });
    expect(error).toMatchObject({ code: "not_found", method: "test.v1.Failing/sum", peer: "memory://server" });
    expect(error.stack).toContain("makesTheCall");
  });

  it("does so where a stream of answers fails", async () => {
    const caller = make();
    const error = await failureOf(async function readsTheItems() {
      for await (const item of caller.serverStream(methods.items, 7)) expect(item).toBe(7);
    });
    expect(error).toMatchObject({ code: "not_found", method: "test.v1.Failing/items", peer: "memory://server" });
    expect(error.stack).toContain("readsTheItems");
  });

  it("does so where a conversation fails", async () => {
    const { readable, writable } = make().duplex(methods.talk);
    const error = await failureOf(async function readsTheItems() {
      const writer = writable.getWriter();
      await writer.write(7);
      await writer.close();
      for await (const item of readable) expect(item).toBe(7);
    });
    expect(error).toMatchObject({ code: "not_found", method: "test.v1.Failing/talk", peer: "memory://server" });
    expect(error.stack).toContain("readsTheItems");
  });

  it("does so before anything is sent", async () => {
    const caller = make();
    const error = await failureOf(async function makesTheCall() {
      await caller.unary(methods.never, 1, { timeoutMs: Number.NaN });
    });
    expect(error).toMatchObject({ code: "invalid_argument", method: "test.v1.Failing/never" });
    expect(error.stack).toContain("makesTheCall");
  });

  it("does so for notifications", async () => {
    const caller = make();
    const error = await failureOf(async function makesTheCall() {
      await caller.notify(methods.note, 1, { deadline: new Date("never") });
    });
    expect(error).toMatchObject({ code: "invalid_argument", method: "test.v1.Failing/note" });
    expect(error.stack).toContain("makesTheCall");
  });
});

describe("calls that end with their session", () => {
  it("have an error each, which names their own method", async () => {
    const session = open();
    const calls = [
      failureOf(async () => await session.unary(methods.never, 1)),
      failureOf(async () => await session.unary(methods.never, 2, { via: "stream" })),
      failureOf(async function sums() {
        await session.clientStream(methods.sum, (async function* () {})(), { via: "lane" });
      }),
    ];
    await session.close({ closeCode: 1 });
    const errors = await Promise.all(calls);
    expect(new Set(errors).size).toBe(3);
    expect(errors.map(({ method }) => method)).toEqual([
      "test.v1.Failing/never",
      "test.v1.Failing/never",
      "test.v1.Failing/sum",
    ]);
    expect(errors[2]?.stack).toContain("sums");
  });
});

describe("a call without a session", () => {
  it("names the method, the peer and what can be done", async () => {
    const cause = Object.assign(new Error("no server listens"), { hint: "start the server" });
    const connection = createConnection(() => Promise.reject(cause), {
      peer: "memory://nobody",
      isPermanent: () => true,
    });
    const error = await failureOf(async function makesTheCall() {
      await connection.unary(methods.fail, 1);
    });
    expect(error).toMatchObject({
      code: "unavailable",
      method: "test.v1.Failing/fail",
      peer: "memory://nobody",
      hint: "start the server",
      cause,
    });
    expect(error.stack).toContain("makesTheCall");
    await connection.close();
  });
});

describe("a call that waits in a pool", () => {
  it.each([
    [["quic://user:secret@a.test:1/?token=x", "b"], "quic://a.test:1, b"],
    [["a", "b", "c", "d", "e"], "a, b, c and 2 more"],
  ])("names the servers among which there was none: %j", async (targets, peer) => {
    const pool = createPool(targets, () => Promise.reject(new Error("no server listens")), { isPermanent: () => true });
    const error = await failureOf(() => pool.unary(methods.fail, 1));
    expect(error).toMatchObject({ code: "unavailable", method: "test.v1.Failing/fail", peer });
    await pool.close();
  });

  it("names those that were found last", async () => {
    const pool = createPool(
      async () => ["found"],
      () => Promise.reject(new Error("no server listens")),
      { isPermanent: () => true },
    );
    await pool.ready().catch(() => {});
    expect((await failureOf(() => pool.unary(methods.fail, 1))).peer).toBe("found");
    await pool.close();
  });
});

describe("hints", () => {
  const any = uncheckedCodec<unknown>();
  const work = defineMethod({ name: "test.v1.Work", id: 78 }, "unary", "work", { id: 1, input: any, output: any });
  const serving = (handler: () => Promise<unknown>): Session =>
    createLocalCaller([createRouter({ work }, { work: handler })], { onError: () => {} });

  it("of a handler that failed lead to the server's log", async () => {
    const error = await failureOf(() => serving(() => Promise.reject(new Error("a bug"))).unary(work, 1));
    expect(error).toMatchObject({ code: "internal", message: "the handler failed" });
    expect(error.hint).toMatch(/`onError`/);
  });

  it("of a handler's own error are none", async () => {
    const error = await failureOf(() => serving(() => Promise.reject(new RpcError("internal", "mine"))).unary(work, 1));
    expect(error).toMatchObject({ code: "internal", message: "mine" });
    expect(error.hint).toBeUndefined();
  });

  it("of a message that is too large say what would carry it", async () => {
    const error = await failureOf(() => serving(async () => 1).unary(work, new Uint8Array(5_000_000)));
    expect(error).toMatchObject({ code: "resource_exhausted" });
    expect(error.hint).toMatch(/stream.*limits\.maxFrameBytes/);
  });

  it("of a call that was lost with its session say when to make it again", async () => {
    const [near, far] = createMemoryPair();
    const server = createSession(far, { routers: [createRouter({ work }, { work: () => new Promise(() => {}) })] });
    const lost = failureOf(() => createSession(near).unary(work, 1));
    await new Promise((resolve) => setImmediate(resolve));
    await server.close({ closeCode: 7 });
    expect((await lost).hint).toMatch(/idempotent/);
  });

  it("of calls that are too many to wait say what to do", async () => {
    const connection = createConnection(() => new Promise<Session>(() => {}), { limits: { maxQueuedBytes: 600 } });
    const first = failureOf(() => connection.unary(work, 1));
    const second = await failureOf(() => connection.unary(work, 2));
    expect(second).toMatchObject({ code: "resource_exhausted", refused: true });
    expect(second.hint).toMatch(/`waitForReady: false`/);
    await connection.close();
    await first;
  });
});

describe("unimplemented", () => {
  const other = defineMethod({ name: "test.v1.Other", id: 77 }, "unary", "get", { id: 1 });
  const newer = defineMethod(service, "unary", "newer", { id: 99 });

  it("names the service and method that was called, and says what to do", async () => {
    const caller = createLocalCaller([router]);
    const unknown = await failureOf(() => caller.unary(other, undefined));
    expect(unknown).toMatchObject({
      code: "unimplemented",
      method: "test.v1.Other/get",
      message: "no service test.v1.Other is served here",
    });
    expect(unknown.hint).toMatch(/the router of test\.v1\.Other .*`routers`/);
    const method = await failureOf(() => caller.unary(newer, undefined));
    expect(method.message).toBe("service test.v1.Failing has no method newer here");
    expect(method.hint).toMatch(/another version of the schema/);
    const nothing = await failureOf(() => createLocalCaller([]).unary(other, undefined));
    expect(nothing.hint).toMatch(/`routers`/);
  });

  it("leaves what a handler says as it is", async () => {
    const own = createRouter(
      { other },
      {
        other: () => {
          throw new RpcError("unimplemented", "not yet");
        },
      },
    );
    const error = await failureOf(() => createLocalCaller([own]).unary(other, undefined));
    expect(error.message).toBe("not yet");
    expect(error.hint).toBeUndefined();
  });

  it("says what is served where reflection does", async () => {
    const caller = createLocalCaller([router, createReflection([router])]);
    const unknown = await failureOf(() => caller.unary(other, undefined));
    expect(unknown.message).toContain("(there are test.v1.Failing, quicrpc.v1.Reflection)");
    const method = await failureOf(() => caller.unary(newer, undefined));
    expect(method.message).toContain("(there are fail, never, items, sum, note, talk)");
  });

  it("says what is served if interceptors only observe, and not if one may check permission", async () => {
    const routers = [router, createReflection([router])];
    const passOn: Interceptor = (call, next) => next(call);
    const observers = [
      logging({ info() {}, warn() {}, error() {} }),
      Object.assign(((call, next) => next(call)) satisfies Interceptor, { checksPermission: false }),
    ];
    const messageWith = async (interceptors: readonly Interceptor[]): Promise<string> =>
      (await failureOf(() => createLocalCaller(routers, { interceptors }).unary(other, undefined))).message;
    expect(await messageWith(observers)).toContain("(there are test.v1.Failing, quicrpc.v1.Reflection)");
    expect(await messageWith([...observers, passOn])).not.toContain("there are");
  });
});

describe("onError", () => {
  it("is told whose call failed", async () => {
    const told: unknown[] = [];
    const [near, far] = createMemoryPair();
    const crash = defineMethod(service, "unary", "crash", { id: 9 });
    const crashing = createRouter(
      { crash },
      {
        crash: () => {
          throw new Error("a bug");
        },
      },
    );
    createSession(far, { routers: [crashing], peer: "192.0.2.1:5000", onError: (_error, site) => told.push(site) });
    const session = createSession(near);
    await failureOf(() => session.unary(crash, undefined));
    expect(told).toEqual([{ method: "test.v1.Failing/crash", peer: "192.0.2.1:5000" }]);
    await session.close();
  });
});
