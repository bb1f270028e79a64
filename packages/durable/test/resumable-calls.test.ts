import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type CallContext,
  type Connection,
  createConnection,
  createSession,
  DEFAULT_LIMITS,
  type Interceptor,
  interceptRouter,
  type Limits,
  RpcError,
  ServerLoad,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { bytesCodec, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { durableRouter, resumableCalls } from "../src/generated.js";
import type { BaseCaller, ConnectionOptions } from "@quicrpc/core/internal";
import { meanwhile, pass, startVirtualTime } from "../../core/test/virtual-time.js";
import { RESUMABLE_BYTES } from "../src/resumed-call.js";
import { createMemoryPair, type TransportSession } from "@quicrpc/core/transport";
import { type AttemptCall, attemptMethod, type AttemptOwner } from "../src/attempt-call.js";
import { encodeResume, type ResumeFields } from "../src/pieces.js";

const service = { name: "test.v1.Resumable", id: 79 };
const number = uncheckedCodec<number>();
const methods = {
  live: defineMethod(service, "server_stream", "live", { id: 1, output: number, extension: resumableCalls }),
  take: defineMethod(service, "client_stream", "take", {
    id: 2,
    input: number,
    output: number,
    extension: resumableCalls,
  }),
  chat: defineMethod(service, "duplex", "chat", { id: 3, input: number, output: number, extension: resumableCalls }),
  blobs: defineMethod(service, "server_stream", "blobs", { id: 4, output: bytesCodec, extension: resumableCalls }),
  plain: defineMethod(service, "server_stream", "plain", { id: 5, output: number }),
};

/** A source that gives what is pushed to it. */
class Feed {
  readonly items: number[] = [];
  ended: { readonly error: Error | undefined } | undefined = undefined;
  private readonly waiting: Set<() => void> = new Set();

  push(...items: number[]): void {
    this.items.push(...items);
    this.wake();
  }

  end(error?: Error): void {
    this.ended = { error };
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  async *read(signal?: AbortSignal): AsyncGenerator<number> {
    signal?.addEventListener("abort", () => this.wake());
    for (let next = 0; ; ) {
      const item = this.items[next];
      if (item !== undefined) {
        next++;
        yield item;
      } else if (signal?.aborted === true) return;
      else if (this.ended === undefined) await new Promise<void>((resolve) => this.waiting.add(resolve));
      else if (this.ended.error === undefined) return;
      else throw this.ended.error;
    }
  }
}

/** A process that serves, with the sessions to it. */
class Server {
  readonly sessions: Session[] = [];
  readonly load: ServerLoad;
  readonly received: number[] = [];
  feed: Feed = new Feed();
  entered = 0;
  open = 0;
  aborts = 0;
  /** Bytes that `blobs` has made. */
  produced = 0;
  /** Until then handlers read no more of their input. */
  private reading: Promise<void> | undefined = undefined;
  goOn: () => void = () => {};
  /** Decides about each call and each resumption. */
  guard: Interceptor = (call, next) => next(call);
  private readonly options: SessionOptions;
  readonly router = durableRouter(
    createRouter(methods, {
      live: (_, { signal }) => this.run(signal, this.feed.read(signal)),
      take: async (items, { signal }) => {
        let sum = 0;
        for await (const item of this.run(signal, items)) {
          this.received.push(item);
          sum += item;
        }
        return sum;
      },
      chat: (items, { signal }) => {
        void (async () => {
          for await (const item of items) {
            this.received.push(item);
            await this.reading;
          }
        })().catch(() => {});
        return this.run(signal, this.feed.read(signal));
      },
      blobs: () => this.blobs(),
      plain: () => [],
    }),
  );

  private readonly guarded = interceptRouter(this.router, [(call, next) => this.guard(call, next)]);

  constructor(options: SessionOptions = {}, limits: Partial<Limits> = {}) {
    this.options = { ...options, limits };
    this.load = new ServerLoad(limits);
  }

  dial(own: SessionOptions = {}): Session {
    const [ours, theirs] = createMemoryPair();
    this.dialled(theirs, own);
    return createSession(ours);
  }

  dialled(theirs: TransportSession, own: SessionOptions): void {
    const options = { onError: () => {}, ...this.options, ...own, routers: [this.guarded], load: this.load };
    this.sessions.push(createSession(theirs, options));
  }

  /** Handlers read one item of their input, and then wait. */
  pause(): void {
    this.goOn();
    this.reading = new Promise((resolve) => (this.goOn = resolve));
  }

  private async *blobs(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (;;) {
      this.produced += 64 * 1024;
      yield new Uint8Array(64 * 1024);
    }
  }

  get latest(): Session {
    return this.sessions.at(-1) as Session;
  }

  private async *run(signal: AbortSignal, items: AsyncIterable<number>): AsyncGenerator<number> {
    this.entered++;
    this.open++;
    signal.addEventListener("abort", () => this.aborts++);
    try {
      yield* items;
    } finally {
      this.open--;
    }
  }
}

let server: Server;
let connection: Connection;
beforeEach(() => {
  startVirtualTime();
  server = new Server();
});
afterEach(async () => {
  server.load.end();
  await connection.close({ closeCode: 1 });
  for (const session of server.sessions) void session.close({ closeCode: 1 });
  await pass(0);
  const { open, load } = server;
  const left = { timers: vi.getTimerCount(), open, suspended: load.suspended.size, held: load.held };
  vi.useRealTimers();
  const isClean = Object.values(left).every((count) => count === 0);
  if (!isClean) throw new Error(`left: ${JSON.stringify(left)}`);
});

function connected(options: ConnectionOptions = {}, own: SessionOptions = {}): Connection {
  connection = createConnection(async () => server.dial(own), options);
  return connection;
}

async function lose(): Promise<void> {
  void server.latest.close({ closeCode: 9, reason: "lost" });
  await pass(0);
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "none",
    (error: RpcError) => error.code,
  );

describe("a resumable call", () => {
  it("waits suspended, with its handler, and is shown in the connection's state", async () => {
    const items = connected().serverStream(methods.live, undefined).values();
    server.feed.push(1);
    expect((await items.next()).value).toBe(1);
    await lose();
    expect(connection.state).toMatchObject({ resuming: 1 });
    expect(server.load.suspended.size).toBe(1);
    server.feed.push(2);
    await pass(1000);
    expect(connection.state).toEqual({ status: "ready" });
    expect((await items.next()).value).toBe(2);
    expect(server.entered).toBe(1);
    expect(server.aborts).toBe(0);
    await items.return?.();
    await pass(0);
    expect(server.aborts).toBe(1);
  });

  it("is given up by its callee in time, and then fails at once", async () => {
    let reachable = true;
    connection = createConnection(async () => {
      if (!reachable) throw new Error("nobody is there");
      return server.dial();
    });
    const items = connection.serverStream(methods.live, undefined, { resumeForMs: 5000 }).values();
    server.feed.push(1);
    await items.next();
    reachable = false;
    await lose();
    await pass(4000);
    expect(server.open).toBe(1);
    await pass(1000);
    expect(server.open).toBe(0);
    const failed = codeOf(items.next());
    await pass(30_000);
    expect(await failed).toBe("unavailable");
  });

  it("is not known to another process, and fails by name", async () => {
    const first = server;
    const items = connected().serverStream(methods.live, undefined).values();
    server.feed.push(1);
    await items.next();
    server = new Server();
    void first.latest.close({ closeCode: 9 });
    const failed = items.next().catch((error: RpcError) => error);
    await pass(1000);
    expect(await failed).toMatchObject({ code: "unavailable", refused: false });
    expect(server.entered).toBe(0);
    first.load.end();
    await pass(0);
    expect(first.open).toBe(0);
  });

  it("that is not idempotent is not begun again where nobody knows whether it ran", async () => {
    let deaf = true;
    connection = createConnection(async () => (deaf ? createSession(createMemoryPair()[0]) : server.dial()));
    const failed = codeOf(connection.serverStream(methods.live, undefined).values().next());
    await pass(0);
    deaf = false;
    void connection.session?.close({ closeCode: 9 });
    await pass(1000);
    expect(await failed).toBe("unavailable");
    expect(server.entered).toBe(0);
  });

  it("ends with the server, the connection, its deadline or its signal while it waits", async () => {
    connected();
    const abort = new AbortController();
    const streams = [{}, { timeoutMs: 20 }, { signal: abort.signal }, {}].map((options) =>
      connection.serverStream(methods.live, undefined, options).values(),
    );
    const errors = streams.map((stream) => codeOf(stream.next()));
    await pass(0);
    await lose();
    abort.abort();
    await pass(20);
    expect(await errors[1]).toBe("deadline_exceeded");
    expect(await errors[2]).toBe("cancelled");
    expect(connection.state).toMatchObject({ resuming: 2 });
    await connection.close();
    expect(await errors[0]).toBe("unavailable");
    expect(await errors[3]).toBe("unavailable");
    expect(server.open).toBeGreaterThan(0);
    server.load.end();
    await pass(0);
    expect(server.open).toBe(0);
  });

  it("holds its writer back while nobody acknowledges, and is kept within its window", async () => {
    const stream = connected().serverStream(methods.blobs, undefined);
    await pass(0);
    const before = server.load.held;
    await lose();
    server.load.measure();
    expect(before).toBeLessThan(1024 * 1024);
    expect(server.load.held).toBeLessThan(1024 * 1024);
    await stream.cancel();
  });

  it("holds its writer back as before when it is resumed, however often", async () => {
    const stream = connected().serverStream(methods.blobs, undefined);
    await pass(1000);
    const before = server.produced;
    for (let i = 0; i < 6; i++) {
      const { length } = server.sessions;
      await lose();
      while (server.sessions.length === length) await pass(100);
      await pass(1000);
    }
    expect(server.produced).toBe(before);
    await stream.cancel();
  });

  it("is as any other on a session alone", async () => {
    connected();
    const items = server.dial().serverStream(methods.live, undefined).values();
    server.feed.push(1);
    await items.next();
    await lose();
    expect(await codeOf(items.next())).toBe("unavailable");
    expect(server.load.suspended.size).toBe(0);
  });

  it("leaves no trace of many that were lost and resumed", async () => {
    connected();
    const calls = Array.from({ length: 50 }, () => connection.serverStream(methods.live, undefined).values());
    for (let i = 0; i < 5; i++) {
      server.feed.push(i);
      expect(await Promise.all(calls.map(async (call) => (await call.next()).value))).toEqual(calls.map(() => i));
      await lose();
      await pass(1000);
    }
    server.feed.end();
    await Promise.all(calls.map((call) => call.next()));
    await pass(0);
    server.load.measure();
    expect(server.load.held).toBeLessThan(20_000);
    expect(server.load.handlers).toBe(0);
  });
});

/** Makes attempts by hand. */
class Intruder implements AttemptOwner {
  readonly pieces: number[] = [];
  over: RpcError | "ended" | undefined = undefined;

  constructor(
    session: Session,
    fields: Partial<ResumeFields>,
    method: Parameters<typeof attemptMethod>[0] = methods.live,
  ) {
    const token = new Uint8Array(16).fill(7);
    const resume = encodeResume({ token, epoch: 0, keepMs: 10_000, received: 0, retained: 0, ...fields });
    void (session as unknown as BaseCaller).begin(attemptMethod(method), this, { resume });
  }

  attempt: AttemptCall | undefined = undefined;

  onCreated(): void {}

  onAttempt(attempt: AttemptCall): void {
    this.attempt = attempt;
  }

  onPiece(_: AttemptCall, cursor: { position: number; end: number }): void {
    this.pieces.push(cursor.end - cursor.position);
  }

  plain(): void {}

  onAttemptOver(_: AttemptCall, error: RpcError | undefined): void {
    this.over = error ?? "ended";
  }
}

describe("who may resume a call", () => {
  const principal = (context: { connection: unknown }): string => (context.connection as { user: string }).user;
  const fixed = (): void => {
    vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
      (array as unknown as Uint8Array).fill(7);
      return array;
    });
  };
  afterEach(() => void vi.restoreAllMocks());

  /** Begins a call of Alice's whose token is known to everybody, and has its first item. */
  async function alices(): Promise<AsyncIterator<number>> {
    fixed();
    server = new Server({ principal });
    const items = connected({}, { connection: { user: "alice" } })
      .serverStream(methods.live, undefined)
      .values();
    server.feed.push(1);
    await items.next();
    return items;
  }

  it("is not who has its token, but is another principal", async () => {
    const items = await alices();
    const mallory = new Intruder(server.dial({ connection: { user: "mallory" } }), { epoch: 9 });
    await pass(0);
    expect(mallory.over).toMatchObject({ code: "unavailable" });
    server.feed.push(2);
    expect((await items.next()).value).toBe(2);
    await items.return?.();
  });

  it("is who has its token and is its principal: the former session is fenced", async () => {
    const items = await alices();
    const again = new Intruder(server.dial({ connection: { user: "alice" } }), { epoch: 9, received: 0 });
    const failed = codeOf(items.next());
    await pass(0);
    expect(await failed).toBe("aborted");
    expect(again.pieces).not.toEqual([]);
    const late = new Intruder(server.dial({ connection: { user: "alice" } }), { epoch: 9 });
    await pass(0);
    expect(late.over).toMatchObject({ code: "aborted" });
    expect(again.over).toBeUndefined();
    expect(server.open).toBe(1);
  });

  it("is not who guesses a token, or begins a call with another's", async () => {
    const items = await alices();
    const session = server.dial({ connection: { user: "alice" } });
    const guessed = new Intruder(session, { token: new Uint8Array(16).fill(1), epoch: 1 });
    const second = new Intruder(session, {});
    const elsewhere = new Intruder(session, {}, methods.plain);
    await pass(0);
    expect(guessed.over).toMatchObject({ code: "unavailable" });
    expect(second.over).toMatchObject({ code: "already_exists" });
    expect(elsewhere.over).toMatchObject({ code: "unimplemented" });
    expect(server.entered).toBe(1);
    await items.return?.();
  });

  it.each([
    ["what was never sent", { received: 10_000 }],
    ["what the callee never had", { retained: 10_000 }],
  ])("is not who speaks of %s", async (_, fields) => {
    const items = await alices();
    const wrong = new Intruder(server.dial({ connection: { user: "alice" } }), { epoch: 3, ...fields });
    await pass(0);
    expect(wrong.over).toMatchObject({ code: "data_loss" });
    server.feed.push(2);
    expect((await items.next()).value).toBe(2);
    await items.return?.();
  });

  it("has to be known: a connection value that says nothing fails the call", async () => {
    const items = connected({}, { connection: { user: "alice" } })
      .serverStream(methods.live, undefined)
      .values();
    expect(await codeOf(items.next())).toBe("internal");
  });
});

it("calls that are hoarded are given up, oldest first and of whoever has most", async () => {
  server = new Server({}, { maxSuspendedCalls: 10 });
  connected();
  const honest = connection.serverStream(methods.live, undefined).values();
  server.feed.push(1);
  await honest.next();
  const hoarded: Intruder[] = [];
  for (let round = 0; round < 3; round++) {
    const hoarder = server.dial();
    for (let i = 0; i < 20; i++) {
      hoarded.push(new Intruder(hoarder, { token: new Uint8Array(16).fill(10 + round * 20 + i) }));
    }
    await pass(0);
    void hoarder.close({ closeCode: 9 });
    await pass(0);
    expect(server.load.suspended.size).toBeLessThanOrEqual(10);
  }
  void server.sessions[0]?.close({ closeCode: 9 });
  await pass(1000);
  server.feed.push(2);
  expect((await honest.next()).value).toBe(2);
  expect(server.open).toBeLessThanOrEqual(11);
  await pass(DEFAULT_LIMITS.maxResumeMs);
  expect(server.load.suspended.size).toBe(0);
  expect(server.open).toBe(1);
  await honest.return?.();
});

/** Holds resumptions up, and counts those that are being decided about. */
class SlowGuard {
  deciding = 0;
  aborted = 0;
  private readonly waiting: (() => void)[] = [];

  readonly decide: Interceptor = async (call, next) => {
    this.deciding++;
    call.context?.signal.addEventListener("abort", () => this.aborted++);
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.deciding--;
    return next(call);
  };

  letGo(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

it("resumptions that are cancelled while they are decided about count as calls in progress", async () => {
  server = new Server({}, { maxCalls: 10 });
  const items = connected().serverStream(methods.live, undefined).values();
  server.feed.push(1);
  await items.next();
  const guard = new SlowGuard();
  const token = new Uint8Array(16).fill(3);
  const first = server.dial();
  const begun = new Intruder(first, { token });
  await pass(0);
  server.guard = guard.decide;
  const session = server.dial();
  const attempts: Intruder[] = [];
  for (let epoch = 1; epoch <= 30; epoch++) {
    const attempt = new Intruder(session, { token, epoch });
    attempts.push(attempt);
    await pass(0);
    attempt.attempt?.cancel(new RpcError("cancelled", "not wanted"));
    await pass(0);
  }
  expect(guard.deciding).toBe(10);
  expect(guard.aborted).toBe(10);
  expect(attempts.at(-1)?.over).toMatchObject({ code: "resource_exhausted" });
  guard.letGo();
  await pass(0);
  expect(guard.deciding).toBe(0);
  // Nobody was refused: the call goes on where it was.
  expect(begun.over).toBeUndefined();
  server.guard = (call, next) => next(call);
  const again = new Intruder(session, { token, epoch: 99 });
  await pass(0);
  expect(again.over).toBeUndefined();
  expect(begun.over).toMatchObject({ code: "aborted" });
  again.attempt?.cancel(new RpcError("cancelled", "not wanted"));
  await items.return?.();
});

it("attempts take no place where all are taken: they cannot wait for their turn as other calls do", async () => {
  server = new Server({}, { maxCalls: 2, maxWaitingCalls: 1 });
  connected();
  const streams = Array.from({ length: 5 }, () => connection.serverStream(methods.live, undefined).values());
  const first = streams.map((items) => codeOf(items.next()));
  await pass(0);
  expect(server.open).toBe(2);
  server.feed.push(1);
  const refused = Array.from({ length: 3 }, () => "resource_exhausted");
  expect(await meanwhile(Promise.all(first))).toEqual(["none", "none", ...refused]);
  await Promise.all(streams.map((items) => items.return?.()));
});

it("an attempt on which nothing follows is charged for what it holds", async () => {
  connected();
  const session = server.dial();
  await pass(0);
  const { held } = server.load;
  const silent = Array.from({ length: 100 }, (_, i) => new Intruder(session, { token: new Uint8Array(16).fill(i) }));
  await pass(0);
  expect(silent.filter(({ over }) => over !== undefined)).toEqual([]);
  expect(server.load.held - held).toBeGreaterThanOrEqual(100 * RESUMABLE_BYTES);
  void session.close({ closeCode: 9 });
  await pass(0);
  expect(server.load.suspended.size).toBe(100);
  expect(server.load.held - held).toBeGreaterThanOrEqual(100 * RESUMABLE_BYTES);
});

it("a call that was resumed ends when its caller's renewed credentials do not allow it any more", async () => {
  server.guard = (call, next) => {
    (call.context as CallContext<string>).onRenewal(({ connection }) => {
      if (connection === "guest") throw new RpcError("permission_denied", "guests may not watch");
    });
    return next(call);
  };
  const renewal: SessionOptions["renewal"] = {
    renew: async ({ credentials }) => ({ connection: credentials ?? "" }),
  };
  connection = createConnection(async () => {
    const [ours, theirs] = createMemoryPair();
    server.dialled(theirs, { renewal, connection: "ann", principal: () => "ann" });
    return createSession(ours, { credentials: "ann", renewCredentials: () => "guest" });
  });
  const items = connection.serverStream(methods.live, undefined).values();
  server.feed.push(1);
  await items.next();
  await lose();
  await pass(1000);
  server.feed.push(2);
  expect((await items.next()).value).toBe(2);
  const failed = codeOf(items.next());
  // What renews is loaded with the server's first word.
  await vi.dynamicImportSettled();
  server.latest.demandCredentials({ withinMs: 60_000 });
  await pass(30_000);
  expect(await failed).toBe("permission_denied");
  expect(server.open).toBe(0);
});

it("what had arrived and was not read is not delivered twice", async () => {
  const { readable, writable } = connected().duplex(methods.chat);
  const writer = writable.getWriter();
  const items = readable.values();
  server.feed.push(-1);
  await items.next();
  server.pause();
  const sent = [0, 1, 2, 3, 4];
  for (const item of sent) await writer.write(item);
  await pass(0);
  await lose();
  await pass(1000);
  server.goOn();
  await writer.write(5);
  await pass(0);
  expect(server.received).toEqual([...sent, 5]);
  await items.return?.();
});

/** Model of a call, and the call itself. */
interface Model {
  readonly sent: number[];
  readonly given: number[];
}

interface Real {
  readonly feed: Feed;
  readonly writer: WritableStreamDefaultWriter<number>;
  readonly items: AsyncIterator<number>;
  readonly taken: number[];
}

const act = (name: string, run: (model: Model, real: Real) => Promise<void>): fc.AsyncCommand<Model, Real> => ({
  check: () => true,
  run,
  toString: () => name,
});

const commands = [
  fc.constant(
    act("give", async (model, { feed }) => {
      model.given.push(model.given.length);
      feed.push(model.given.length - 1);
    }),
  ),
  fc.constant(
    act("send", async (model, { writer }) => {
      model.sent.push(model.sent.length);
      writer.write(model.sent.length - 1).catch(() => {});
    }),
  ),
  fc.constant(
    act("take", async (model, { items, taken }) => {
      if (taken.length >= model.given.length) return;
      const next = items.next();
      for (let ms = 0; ms < 60_000; ms += 1000) {
        const settled = await Promise.race([next, pass(1000)]);
        if (typeof settled === "object" && settled !== null && "value" in settled) break;
      }
      taken.push((await next).value as number);
    }),
  ),
  fc.constant(act("the handler reads an item", async () => server.pause())),
  fc.constant(act("the server loses it", async () => void server.latest.close({ closeCode: 9 }))),
  fc.constant(act("the client loses it", async () => void connection.session?.close({ closeCode: 9 }))),
  fc.integer({ min: 0, max: 1000 }).map((ms) => act(`${ms} ms pass`, async () => void (await pass(ms)))),
  fc.integer({ min: 1, max: 4 }).map((turns) =>
    act(`${turns} turns pass`, async () => {
      for (let i = 0; i < turns; i++) await Promise.resolve();
    }),
  ),
];

it("both directions arrive once and in order, whatever happens to the sessions", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: "max" }), async (run) => {
      server = new Server();
      connected();
      const { readable, writable } = connection.duplex(methods.chat);
      const model: Model = { sent: [], given: [] };
      const real: Real = { feed: server.feed, writer: writable.getWriter(), items: readable.values(), taken: [] };
      // Until the callee has spoken nobody knows whether it has the call.
      server.feed.push(-1);
      await meanwhile(real.items.next());
      server.pause();
      await fc.asyncModelRun(() => ({ model, real }), run);
      void real.writer.close().catch(() => {});
      server.goOn();
      // A handler that returns wants no more of its input.
      await pass(60_000);
      server.feed.end();
      const rest = (async () => {
        for (let next = await real.items.next(); next.done !== true; next = await real.items.next())
          real.taken.push(next.value);
      })();
      await pass(60_000);
      await rest;
      expect(real.taken).toEqual(model.given);
      expect(server.received).toEqual(model.sent);
      expect(server.entered).toBe(1);
      server.load.end();
      await meanwhile(connection.close({ closeCode: 1 }));
      await pass(0);
      expect([server.open, server.load.held, server.load.suspended.size]).toEqual([0, 0, 0]);
    }),
    { numRuns: 60 },
  );
});
