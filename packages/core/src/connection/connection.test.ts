import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import { type Deferred, deferred } from "../deferred.js";
import type { RpcError } from "../errors.js";
import { createRouter } from "../server/router.js";
import { createSession } from "../session/create-session.js";
import type { Session } from "../session/session.js";
import { refusalCode } from "../transport/close-codes.js";
import { createMemoryPair } from "../transport/memory.js";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.js";
import type { ConnectionState } from "./state.js";
import { pass, startVirtualTime } from "../../test/virtual-time.js";

const service = { name: "test.v1.Connection", id: 77 };
const text = uncheckedCodec<string>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  never: defineMethod(service, "unary", "never", { id: 2, input: text, output: text }),
  note: defineMethod(service, "notify", "note", { id: 3, input: text }),
  repeat: defineMethod(service, "server_stream", "repeat", { id: 4, input: text, output: text }),
  join: defineMethod(service, "client_stream", "join", { id: 5, input: text, output: text }),
  chat: defineMethod(service, "duplex", "chat", { id: 6, input: text, output: text }),
};

/** A simulated server to which the test lets dials succeed or fail. Its sessions end when the test closes them. */
class Peer {
  readonly seen: string[] = [];
  readonly sessions: Session[] = [];
  readonly dials: Deferred<Session>[] = [];
  /** Whether a dial succeeds at once. If false, the test settles it. */
  answers = true;

  readonly dial = async (signal: AbortSignal): Promise<Session> => {
    if (this.answers) return this.session();
    const attempt = deferred<Session>();
    signal.addEventListener("abort", () => attempt.reject(signal.reason));
    this.dials.push(attempt);
    return attempt.promise;
  };

  /** Creates a session and returns the client's side of it. */
  session(): Session {
    const [ours, theirs] = createMemoryPair();
    const { seen } = this;
    const router = createRouter(methods, {
      echo: (input) => {
        seen.push(`echo ${input}`);
        return input;
      },
      never: (input, { signal }) => {
        seen.push(`never ${input}`);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      note: (input) => void seen.push(`note ${input}`),
      repeat: async function* (input) {
        for (let i = 0; i < 3; i++) yield input;
      },
      join: async (items) => (await collect(items)).join(""),
      chat: async function* (items) {
        for await (const item of items) yield item.toUpperCase();
      },
    });
    this.sessions.push(createSession(theirs, { routers: [router] }));
    return createSession(ours, {
      routers: [createRouter({ echo: methods.echo }, { echo: (input) => `client ${input}` })],
    });
  }

  get latest(): Session {
    return this.sessions.at(-1) as Session;
  }
}

let peer: Peer;
let connection: Connection;
beforeEach(() => {
  startVirtualTime();
  vi.spyOn(Math, "random").mockReturnValue(1);
  peer = new Peer();
});
afterEach(async () => {
  await connection.close({ closeCode: 1 });
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function connected(options: ConnectionOptions = {}): Connection {
  connection = createConnection(peer.dial, options);
  return connection;
}

/** Closes the latest session as if it was lost, and runs the timers that are due. */
async function lose(): Promise<void> {
  void peer.latest.close({ closeCode: 9, reason: "lost" });
  await pass(0);
}

describe("a connection heals", () => {
  it("dials at the first call, and again when the session is lost", async () => {
    const { sessions } = peer;
    connected();
    expect(connection.state).toEqual({ status: "idle" });
    expect(await connection.unary(methods.echo, "a")).toBe("a");
    expect(connection.state).toEqual({ status: "ready" });
    await lose();
    expect(connection.state).toMatchObject({ status: "connecting", failures: 1, retryAt: Date.now() + 100 });
    expect((connection.state as { error: Error }).error.message).toContain("lost");
    const waiting = connection.unary(methods.echo, "b");
    await pass(99);
    expect(sessions).toHaveLength(1);
    await pass(1);
    expect(await waiting).toBe("b");
    expect(sessions).toHaveLength(2);
  });

  it("serves on each new session", async () => {
    await connected().ready();
    expect(await peer.latest.unary(methods.echo, "1")).toBe("client 1");
    await lose();
    await pass(100);
    expect(await peer.latest.unary(methods.echo, "2")).toBe("client 2");
    expect(peer.sessions).toHaveLength(2);
  });

  it("that a server refuses tells why, fails calls with that, and is ready when the server has accepted it", async () => {
    connected();
    const statuses: string[] = [];
    const watched = (async () => {
      for await (const { status } of connection.states()) statuses.push(status);
    })();
    await connection.ready();
    const refuse = async (): Promise<void> => {
      await peer.latest.close({ closeCode: refusalCode("unauthenticated"), reason: "a bad token" });
      await pass(0);
    };
    await refuse();
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(connection.state).toMatchObject({ error: { code: "unauthenticated", message: "a bad token" } });
      const call = connection.unary(methods.echo, "a");
      await expect(call).rejects.toMatchObject({ code: "unauthenticated", refused: true });
      peer.answers = false;
      await pass(200);
      peer.dials.at(-1)?.resolve(peer.session());
      // Refuses the session before the ping of the client arrives.
      await refuse();
    }
    expect(statuses.filter((status) => status === "ready")).toEqual(["ready"]);
    peer.answers = true;
    await pass(400);
    expect(connection.state.status).toBe("ready");
    expect(await connection.unary(methods.echo, "b")).toBe("b");
    await connection.close();
    await watched;
  });

  it("waits longer after each failure, up to the most, and starts anew after a session that lasted", async () => {
    peer.answers = false;
    connected({ backoff: { initialMs: 100, factor: 2, maxMs: 300 } }).connect();
    for (const delay of [100, 200, 300, 300]) {
      peer.dials.at(-1)?.reject(new Error("nobody"));
      const before = peer.dials.length;
      await pass(delay - 1);
      expect(peer.dials).toHaveLength(before);
      await pass(1);
      expect(peer.dials).toHaveLength(before + 1);
    }
    peer.dials.at(-1)?.resolve(peer.session());
    await pass(9999);
    await lose();
    expect(connection.state).toMatchObject({ failures: 5, retryAt: Date.now() + 300 });
    await pass(300);
    peer.dials.at(-1)?.resolve(peer.session());
    await pass(10_000);
    await lose();
    expect(connection.state).toMatchObject({ failures: 1, retryAt: Date.now() + 100 });
  });

  it("fails the calls that may have run, and makes none of them again", async () => {
    await connected().ready();
    const call = failure(connection.unary(methods.never, "a"));
    await pass(0);
    await lose();
    expect(await call).toMatchObject({ code: "unavailable", refused: false });
    await pass(1000);
    expect(connection.state.status).toBe("ready");
    expect(peer.seen).toEqual(["never a"]);
  });

  it("a call made at the moment the session is lost, before anybody was told, goes to the next", async () => {
    const session = await connected().ready();
    void session.close({ closeCode: 1 });
    const call = connection.unary(methods.echo, "a");
    await pass(100);
    expect(await call).toBe("a");
    expect(peer.seen).toEqual(["echo a"]);
  });

  it("when the peer drains, calls in progress finish and new ones go to a fresh session", async () => {
    const before = await connected().ready();
    const talk = connection.duplex(methods.chat);
    const writer = talk.writable.getWriter();
    await writer.write("a");
    await pass(0);
    void peer.latest.drain();
    await pass(0);
    const after = connection.session;
    expect(after).toBeDefined();
    expect(after).not.toBe(before);
    expect(await connection.unary(methods.echo, "new")).toBe("new");
    await writer.write("b");
    await writer.close();
    expect(await collect(talk.readable)).toEqual(["A", "B"]);
    await before.closed;
    expect(connection.session).toBe(after);
  });

  it("a call that crosses the peer's goaway is made on the fresh session", async () => {
    await connected().ready();
    void peer.latest.drain();
    expect(await connection.unary(methods.echo, "a")).toBe("a");
    expect(peer.sessions).toHaveLength(2);
    expect(peer.seen).toEqual(["echo a"]);
  });

  it("with reconnect off, calls are refused once the peer drains, and it ends", async () => {
    await connected({ reconnect: false }).ready();
    const stream = connection.serverStream(methods.repeat, "x");
    await pass(0);
    void peer.latest.drain();
    await pass(0);
    expect(await failure(connection.unary(methods.echo, "a", { timeoutMs: 10, waitForReady: false }))).toMatchObject({
      code: "unavailable",
      refused: true,
    });
    expect(await collect(stream)).toEqual(["x", "x", "x"]);
    expect(await connection.closed).toMatchObject({ closeCode: 0 });
    expect(connection.state.status).toBe("closed");
  });

  it("drained by this side, it finishes its calls and makes no more", async () => {
    await connected().ready();
    const stream = connection.serverStream(methods.repeat, "x");
    const drained = connection.drain();
    expect(connection.state.status).toBe("draining");
    expect(await failure(connection.unary(methods.echo, "a"))).toMatchObject({ code: "unavailable", refused: true });
    expect(await collect(stream)).toEqual(["x", "x", "x"]);
    expect(await drained).toMatchObject({ closeCode: 0, error: undefined });
    expect(connection.state).toEqual({ status: "closed" });
  });

  it("with reconnect off, it ends with its session", async () => {
    await connected({ reconnect: false }).ready();
    await lose();
    expect(await connection.closed).toMatchObject({ closeCode: 9, reason: "lost" });
    expect(connection.state).toMatchObject({ status: "closed", error: { message: expect.stringContaining("lost") } });
    expect(await failure(connection.unary(methods.echo, "a"))).toMatchObject({ code: "unavailable", refused: true });
    expect(peer.sessions).toHaveLength(1);
  });
});

describe("calls without a session", () => {
  beforeEach(() => {
    peer.answers = false;
  });

  it("wait, and start in the order they were made: each kind", async () => {
    connected();
    const { writable, readable } = connection.duplex(methods.chat);
    const writer = writable.getWriter();
    const written = writer.write("hello").then(() => writer.close());
    const calls = [
      connection.unary(methods.echo, "1"),
      connection.notify(methods.note, "2"),
      connection.unary(methods.echo, "3"),
      connection.clientStream(methods.join, ["a", "b"]),
      collect(connection.serverStream(methods.repeat, "x")),
      collect(readable),
      written,
    ];
    await pass(500);
    expect(peer.dials).toHaveLength(1);
    peer.dials[0]?.resolve(peer.session());
    expect(await Promise.all(calls)).toEqual(["1", undefined, "3", "ab", ["x", "x", "x"], ["HELLO"], undefined]);
    expect(peer.seen).toEqual(["echo 1", "note 2", "echo 3"]);
  });

  it("fail at their deadline, and say what is wrong", async () => {
    connected();
    const call = failure(connection.unary(methods.echo, "a", { timeoutMs: 150 }));
    peer.dials[0]?.reject(new Error("nobody there"));
    await pass(150);
    expect(await call).toMatchObject({
      code: "deadline_exceeded",
      refused: true,
      message: "no session within 150 ms: nobody there",
    });
  });

  it("fail with unavailable after limits.maxQueuedMs", async () => {
    connected({ limits: { maxQueuedMs: 50 } });
    const calls = everyKind({ timeoutMs: 5000 });
    await pass(50);
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ code: "unavailable", refused: true });
      expect(error.message).toContain("limits.maxQueuedMs");
    }
  });

  describe("while the only server drains", () => {
    const DRAIN_MS = 300;
    const MAX_QUEUED_MS = 50;
    beforeEach(async () => {
      peer.answers = true;
      await connected({ limits: { maxQueuedMs: MAX_QUEUED_MS } }).ready();
      peer.answers = false;
      void peer.latest.drain({ timeoutMs: DRAIN_MS, final: true });
      await pass(0);
    });

    it("wait for its successor, until limits.maxQueuedMs after the drain", async () => {
      const call = connection.unary(methods.echo, "a");
      await pass(DRAIN_MS + MAX_QUEUED_MS - 1);
      peer.dials[0]?.resolve(peer.session());
      expect(await call).toBe("a");
    });

    it("fail after that, and at their deadline", async () => {
      const calls = [{}, { timeoutMs: MAX_QUEUED_MS }].map((options) =>
        failure(connection.unary(methods.echo, "a", options)),
      );
      await pass(DRAIN_MS + MAX_QUEUED_MS);
      const [waited, timed] = await Promise.all(calls);
      expect(waited).toMatchObject({ code: "unavailable", refused: true });
      expect(waited?.message).toBe("no session within limits.maxQueuedMs (50 ms) after the end of the server's drain");
      expect(timed).toMatchObject({ code: "deadline_exceeded", refused: true });
    });
  });

  it("fail when their signal fires", async () => {
    connected();
    const abort = new AbortController();
    const calls = everyKind({ signal: abort.signal });
    abort.abort();
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "cancelled" });
    expect(await failure(connection.unary(methods.echo, "a", { signal: abort.signal }))).toMatchObject({
      code: "cancelled",
    });
  });

  it("take the time they waited from their deadline", async () => {
    connected();
    const call = failure(connection.unary(methods.never, "a", { timeoutMs: 100 }));
    await pass(60);
    peer.dials[0]?.resolve(peer.session());
    await pass(39);
    expect(peer.seen).toEqual(["never a"]);
    await pass(1);
    expect(await call).toMatchObject({ code: "deadline_exceeded" });
  });

  it("do not wait with waitForReady: false", async () => {
    connected();
    for (const error of await Promise.all(everyKind({ waitForReady: false }))) {
      expect(error).toMatchObject({ code: "unavailable", refused: true });
    }
  });

  it("are bounded by their bytes, and the place is free again when one leaves", async () => {
    connected({ limits: { maxQueuedBytes: 1100 } });
    const abort = new AbortController();
    const first = failure(connection.unary(methods.echo, "abc", { signal: abort.signal }));
    const second = connection.unary(methods.echo, "def");
    const full = await failure(connection.unary(methods.echo, "ghi"));
    expect(full).toMatchObject({
      code: "resource_exhausted",
      message: "2 calls wait already: limits.maxQueuedBytes is 1100",
    });
    abort.abort();
    await first;
    const third = connection.unary(methods.echo, "jkl");
    peer.dials[0]?.resolve(peer.session());
    expect(await Promise.all([second, third])).toEqual(["def", "jkl"]);
  });

  it("are refused at once when their input does not fit", async () => {
    connected({ limits: { maxFrameBytes: 100 } });
    expect(await failure(connection.unary(methods.echo, "x".repeat(200)))).toMatchObject({
      code: "resource_exhausted",
    });
    expect(connection.state.status).toBe("connecting");
  });

  it("that are left before they start are never made", async () => {
    connected();
    await connection.serverStream(methods.repeat, "x").cancel();
    const iterator = connection.serverStream(methods.repeat, "x").values();
    const pending = iterator.next();
    await iterator.return?.();
    expect(await pending).toMatchObject({ done: true });
    const { readable, writable } = connection.duplex(methods.chat);
    const writing = failure(writable.getWriter().write("a"));
    await readable.cancel();
    expect(await writing).toMatchObject({ code: "cancelled" });
    const session = peer.session();
    const streams = vi.spyOn(session, "serverStream");
    peer.dials[0]?.resolve(session);
    await pass(0);
    expect(connection.state.status).toBe("ready");
    expect(streams).not.toHaveBeenCalled();
  });

  it("a duplex call that is aborted while it waits settles both directions", async () => {
    connected();
    const { readable, writable } = connection.duplex(methods.chat);
    const writer = writable.getWriter();
    const writing = failure(writer.write("a"));
    const reading = failure(collect(readable));
    await writer.abort(new Error("enough"));
    expect(await reading).toMatchObject({ code: "cancelled" });
    expect(await writing).toBeInstanceOf(Error);
    peer.dials[0]?.resolve(peer.session());
    await pass(0);
    expect(peer.seen).toEqual([]);
  });

  it("fail with the reason while connecting fails for good; attempts go on", async () => {
    connected({ isPermanent: ({ message }) => message === "bad certificate" });
    const early = everyKind({});
    peer.dials[0]?.reject(new Error("bad certificate"));
    await pass(0);
    for (const error of [...(await Promise.all(early)), ...(await Promise.all(everyKind({})))]) {
      expect(error).toMatchObject({ code: "unavailable", message: "there is no session: bad certificate" });
    }
    await pass(100);
    peer.dials[1]?.resolve(peer.session());
    await pass(0);
    expect(await connection.unary(methods.echo, "mended")).toBe("mended");
  });

  it("fail when the connection is closed, which also gives the attempt up", async () => {
    connected();
    const calls = everyKind({});
    const end = await connection.close({ closeCode: 3, reason: "enough" });
    expect(end).toEqual({ closeCode: 3, reason: "enough", error: undefined, unacknowledged: 0 });
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: "unavailable" });
    await expect(peer.dials[0]?.promise).rejects.toMatchObject({ code: "cancelled" });
    const late = peer.session();
    peer.dials[0]?.resolve(late);
    expect(connection.state.status).toBe("closed");
  });
});

describe("a connection that improves", () => {
  /** Searches for a better session that are in progress; the test settles them. */
  let searches: { readonly found: Deferred<Session>; readonly signal: AbortSignal }[];

  function improving(options: ConnectionOptions = {}): Connection {
    searches = [];
    const improve = (_: Session, signal: AbortSignal): Promise<Session> => {
      const found = deferred<Session>();
      searches.push({ found, signal });
      return found.promise;
    };
    connection = createConnection(peer.dial, { ...options, improve });
    return connection;
  }

  it("makes new calls on the better session, and finishes those in progress on the former", async () => {
    const first = await improving().ready();
    const never = failure(connection.unary(methods.never, "a", { timeoutMs: 3_600_000 }));
    const { readable, writable } = connection.duplex(methods.chat);
    const writer = writable.getWriter();
    await writer.write("before");
    const better = peer.session();
    searches[0]?.found.resolve(better);
    await pass(0);
    expect(connection.session).toBe(better);
    await writer.write("after");
    await writer.close();
    expect(await collect(readable)).toEqual(["BEFORE", "AFTER"]);
    expect(await connection.unary(methods.echo, "b")).toBe("b");
    await pass(3_600_000);
    expect(await never).toMatchObject({ code: "deadline_exceeded" });
    expect(await first.closed).toMatchObject({ closeCode: 0 });
    expect(peer.sessions).toHaveLength(2);
    // A second search has started, for a better session than the new one.
    expect(searches).toHaveLength(2);
  });

  it("serves on both meanwhile", async () => {
    await improving().ready();
    searches[0]?.found.resolve(peer.session());
    await pass(0);
    expect(await peer.latest.unary(methods.echo, "new")).toBe("client new");
  });

  it.each([
    ["is lost", () => peer.latest.close({ closeCode: 9, reason: "lost" })],
    ["drains", () => peer.latest.drain()],
    ["is closed", () => connection.close()],
  ] as const)("gives the search up when the session %s, and closes what it finds later", async (_, end) => {
    await improving().ready();
    void end();
    await pass(0);
    expect(searches[0]?.signal.aborted).toBe(true);
    const late = peer.session();
    searches[0]?.found.resolve(late);
    await pass(0);
    expect(await late.closed).toMatchObject({ closeCode: 0 });
    expect(connection.session).not.toBe(late);
  });

  it("stays where it is when nothing is found", async () => {
    const first = await improving().ready();
    searches[0]?.found.reject(new Error("nothing better"));
    await pass(0);
    expect(connection.session).toBe(first);
    expect(await connection.unary(methods.echo, "a")).toBe("a");
  });

  it("closes both sessions when it is closed", async () => {
    const first = await improving().ready();
    const never = failure(connection.unary(methods.never, "a"));
    const better = peer.session();
    searches[0]?.found.resolve(better);
    await pass(0);
    await connection.close({ closeCode: 7 });
    expect(await never).toMatchObject({ code: "unavailable" });
    expect([await first.closed, await better.closed]).toMatchObject([{ closeCode: 7 }, { closeCode: 7 }]);
  });
});

describe("ready()", () => {
  beforeEach(() => {
    peer.answers = false;
  });

  it("resolves with the session, after attempts that failed", async () => {
    const ready = connected().ready({ timeoutMs: 1000 });
    peer.dials[0]?.reject(new Error("not yet"));
    await pass(100);
    const session = peer.session();
    peer.dials[1]?.resolve(session);
    expect(await ready).toBe(session);
  });

  it("rejects with the last error when no attempt would follow in time", async () => {
    const ready = failure(connected().ready({ timeoutMs: 200 }));
    peer.dials[0]?.reject(new Error("first"));
    await pass(150);
    peer.dials[1]?.reject(new Error("second"));
    await pass(0);
    expect((await ready).message).toBe("second");
  });

  it("rejects at once when trying again is pointless", async () => {
    const pointless = failure(connected({ isPermanent: () => true }).ready());
    peer.dials[0]?.reject(new Error("bad certificate"));
    expect((await pointless).message).toBe("bad certificate");
  });

  it("rejects when aborted, and when closed", async () => {
    const abort = new AbortController();
    const aborted = failure(connected().ready({ signal: abort.signal }));
    abort.abort(new Error("enough"));
    expect((await aborted).message).toBe("enough");
    await connection.close();
    expect(await failure(connection.ready())).toMatchObject({
      code: "unavailable",
      hint: "make calls before `close()`, or make another connection",
    });
  });
});

describe("states()", () => {
  it("yields the present state and each change, and ends when closed", async () => {
    connected();
    const seen: ConnectionState["status"][] = [];
    const watching = (async () => {
      for await (const { status } of connection.states()) seen.push(status);
    })();
    await pass(0);
    await connection.ready();
    await lose();
    await pass(100);
    await connection.close();
    await watching;
    expect(seen).toEqual(["idle", "connecting", "ready", "connecting", "connecting", "ready", "closed"]);
    expect(await collect(connection.states())).toEqual([{ status: "closed" }]);
  });

  it("is left at once, whatever happens", async () => {
    const states = connected().states();
    await states.next();
    const next = states.next();
    await states.return?.();
    expect(await next).toEqual({ value: undefined, done: true });
  });
});

/** Makes one call of each kind. Returns promises of their errors. */
function everyKind(options: Parameters<Connection["unary"]>[2]): Promise<RpcError>[] {
  const source = new ReadableStream<string>();
  const { readable, writable } = connection.duplex(methods.chat, options);
  return [
    connection.unary(methods.echo, "a", options),
    connection.notify(methods.note, "a", options),
    collect(connection.serverStream(methods.repeat, "a", options)),
    connection.clientStream(methods.join, source, options),
    collect(readable),
    writable.getWriter().closed,
  ].map(failure);
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

async function failure(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (error) {
    return error as RpcError;
  }
  throw new Error("it went well");
}
