import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Code, createSession, RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { deferred } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";
import { balancer } from "./balance.js";
import { createPool, type Pool, type PoolOptions } from "./pool.js";
import type { ResolveTargets, TargetSpec } from "./discovery.js";
import { pass, startVirtualTime } from "../../core/test/virtual-time.js";

const service = { name: "test.v1.Pool", id: 78 };
const text = uncheckedCodec<string>();
const methods = {
  where: defineMethod(service, "unary", "where", { id: 1, output: text }),
  never: defineMethod(service, "unary", "never", { id: 2, output: text }),
  fail: defineMethod(service, "unary", "fail", { id: 3, input: text, output: text }),
  open: defineMethod(service, "server_stream", "open", { id: 4, output: text }),
  chat: defineMethod(service, "duplex", "chat", { id: 5, input: text, output: text }),
};

/** Returns a promise that rejects when the signal fires. */
function gone(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** Servers by name, each either running or stopped. */
class World {
  readonly sessions: Map<string, Session[]> = new Map();
  readonly down: Set<string> = new Set();
  dials = 0;

  readonly dial = async (target: string): Promise<Session> => {
    this.dials++;
    if (this.down.has(target)) throw new Error(`${target} is down`);
    const [ours, theirs] = createMemoryPair();
    const router = createRouter(methods, {
      where: () => target,
      never: (_, { signal }) => gone(signal),
      fail: (code) => {
        if (this.sick === undefined || this.sick === target) throw new RpcError(code as Code, "as told");
        return target;
      },
      open: async function* (_, { signal }) {
        yield target;
        await gone(signal);
      },
      chat: async function* () {
        yield target;
      },
    });
    const session = createSession(theirs, { routers: [router] });
    this.sessions.set(target, [...(this.sessions.get(target) ?? []), session]);
    return createSession(ours);
  };

  /** Name of the only server on which the method `fail` fails. */
  sick: string | undefined;

  kill(target: string): void {
    this.down.add(target);
    for (const session of this.sessions.get(target) ?? []) void session.close({ closeCode: 9 });
  }
}

let world: World;
let pool: Pool;
beforeEach(() => {
  startVirtualTime();
  world = new World();
});
afterEach(async () => {
  await pool.close({ closeCode: 1 });
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function pooled(
  targets: readonly (string | TargetSpec)[] | ResolveTargets,
  options: PoolOptions = {},
): Promise<Pool> {
  pool = createPool(targets, world.dial, options);
  pool.connect();
  await pass(0);
  return pool;
}

async function where(calls: number): Promise<string[]> {
  const answers: string[] = [];
  for (let i = 0; i < calls; i++) answers.push(await pool.unary(methods.where, undefined));
  return answers;
}

const statuses = (): Record<string, string> =>
  Object.fromEntries(pool.targets.map(({ target, status }) => [target, status]));

/** Returns the first element of a list, which must not be empty. */
function firstOf<T>(list: readonly T[]): T {
  for (const each of list) return each;
  throw new Error("the list is empty");
}

const failure = (promise: Promise<unknown>): Promise<RpcError> =>
  promise.then(
    () => Promise.reject(new Error("the call went well")),
    (error: RpcError) => error,
  );

describe("balancing", () => {
  it("round robin: each in turn", async () => {
    await pooled(["a", "b", "c"], { balance: "roundRobin" });
    expect(await where(7)).toEqual(["a", "b", "c", "a", "b", "c", "a"]);
  });

  it("least loaded: where the fewest calls are in progress, streams counted until they are over", async () => {
    await pooled(["a", "b"], { balance: "leastLoaded" });
    const stream = pool.serverStream(methods.open, undefined);
    const busy = (await stream[Symbol.asyncIterator]().next()).value;
    const idle = busy === "a" ? "b" : "a";
    expect(await where(3)).toEqual([idle, idle, idle]);
    const calls = [1, 2].map(() => failure(pool.unary(methods.never, undefined)));
    await pass(0);
    expect(pool.targets.map(({ calls: inProgress }) => inProgress).toSorted((a, b) => a - b)).toEqual([1, 2]);
    await pool.close({ closeCode: 1 });
    await Promise.all(calls);
  });

  it("a stream counts no more once it ended, was left, or its session was lost", async () => {
    await pooled(["a"]);
    const [target] = pool.targets;
    const chat = pool.duplex(methods.chat);
    const left = pool.serverStream(methods.open, undefined);
    expect(target?.calls).toBe(2);
    for await (const item of chat.readable) expect(item).toBe("a");
    expect(target?.calls).toBe(1);
    for await (const _ of left) break;
    expect(target?.calls).toBe(0);
  });

  it("power of two: the better of two random ones", async () => {
    await pooled(["a", "b", "c"], { balance: "powerOfTwo" });
    for (let i = 0; i < 30; i++) void pool.unary(methods.never, undefined).catch(() => {});
    const loads = pool.targets.map(({ calls }) => calls);
    expect(loads.reduce((sum, calls) => sum + calls)).toBe(30);
    expect(Math.min(...loads)).toBeGreaterThanOrEqual(5);
    vi.spyOn(Math, "random").mockReturnValue(0);
    const [a, b] = pool.targets;
    const chosen = (a?.calls ?? 0) <= (b?.calls ?? 0) ? "a" : "b";
    expect(await where(1)).toEqual([chosen]);
  });

  it("by a function of one's own", async () => {
    await pooled(["a", "b"], { balance: (targets) => targets[1] ?? firstOf(targets) });
    expect(await where(2)).toEqual(["b", "b"]);
  });

  it("several sessions with one target share its calls", async () => {
    await pooled(["a"], { sessionsPerTarget: 3 });
    expect(pool.targets[0]?.sessions).toHaveLength(3);
    const sessions = pool.targets[0]?.sessions.map((session) => vi.spyOn(session, "start")) ?? [];
    for (let i = 0; i < 6; i++) void pool.unary(methods.never, undefined).catch(() => {});
    expect(sessions.map(({ mock }) => mock.calls.length)).toEqual([2, 2, 2]);
  });

  it("needs a target, a whole number of sessions, and a balancer", async () => {
    expect(() => createPool([], world.dial)).toThrow(TypeError);
    expect(() => createPool(["a"], world.dial, { sessionsPerTarget: 0 })).toThrow(/sessionsPerTarget is 0/);
    expect(() => createPool(["a"], world.dial, { balance: "roundrobin" as "roundRobin" })).toThrow(
      new TypeError('balance is "roundrobin": it takes "roundRobin", "leastLoaded", "powerOfTwo" or a function'),
    );
    await pooled(["a", "a"]);
    expect(pool.targets).toHaveLength(1);
  });
});

describe("weights", () => {
  const weighted = [{ target: "a", weight: 3 }, "b"];
  const count = (answers: readonly string[], target: string): number =>
    answers.filter((each) => each === target).length;

  it("round robin: in proportion, and spread out", async () => {
    await pooled(weighted, { balance: "roundRobin" });
    expect((await where(8)).join("")).toBe("aabaaaba");
  });

  it.each(["leastLoaded", "powerOfTwo"] as const)("%s: calls, and calls in progress, in proportion", async (name) => {
    await pooled([...weighted, { target: "c", weight: 2 }], { balance: name });
    const balance = balancer(name);
    const drawn = Array.from({ length: 600 }, () => balance(pool.targets, methods.where, undefined, undefined).target);
    // 600 draws of which a half, a sixth and a third are expected: five standard deviations.
    expect(Math.abs(count(drawn, "a") - 300)).toBeLessThan(62);
    expect(Math.abs(count(drawn, "b") - 100)).toBeLessThan(46);
    for (let i = 0; i < 60; i++) void pool.unary(methods.never, undefined).catch(() => {});
    const loads = pool.targets.map(({ calls, weight }) => calls / weight);
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(name === "leastLoaded" ? 1 : 8);
  });

  it("a weight that is none is refused", () => {
    for (const weight of [0, -1, Number.NaN]) {
      expect(() => createPool([{ target: "a", weight }], world.dial)).toThrow(/the weight of a is/);
    }
  });
});

describe("priorities", () => {
  const tiered = [
    { target: "spare", priority: 2 },
    { target: "a", priority: 1 },
    { target: "b", priority: 1 },
  ];

  it("targets of a lower priority are dialled, and get calls, only while none of a higher one takes any", async () => {
    await pooled(tiered, { balance: "roundRobin", backoff: { initialMs: 100, maxMs: 100 } });
    expect(statuses()).toEqual({ a: "ready", b: "ready", spare: "idle" });
    world.kill("a");
    await pass(0);
    expect(statuses()).toMatchObject({ b: "ready", spare: "idle" });
    expect(await where(2)).toEqual(["b", "b"]);
    world.kill("b");
    await pass(0);
    expect(statuses()).toEqual({ a: "connecting", b: "connecting", spare: "ready" });
    expect(await where(2)).toEqual(["spare", "spare"]);
    world.down.clear();
    await pass(100);
    expect((await where(2)).toSorted()).toEqual(["a", "b"]);
  });

  it("nor do those whose peers are not able to serve hold them back", async () => {
    const able = deferred<void>();
    await pooled(tiered, {
      async *health(caller) {
        const name = await caller.unary(methods.where, undefined);
        if (name !== "spare") await able.promise;
        yield name === "spare";
        await new Promise(() => {});
      },
    });
    // They have not said yet.
    expect(statuses()).toMatchObject({ a: "unhealthy", spare: "idle" });
    able.resolve();
    await pass(0);
    expect(await where(1)).toEqual(["spare"]);
  });

  it("follow what is resolved", async () => {
    let answer: readonly TargetSpec[] = tiered;
    await pooled(async () => answer, { refreshMs: 1000 });
    answer = [{ target: "spare", priority: 0 }, ...tiered];
    await pass(1000);
    expect(statuses()).toEqual({ a: "ready", b: "ready", spare: "ready" });
    expect(await where(2)).toEqual(["spare", "spare"]);
  });
});

describe("targets that come and go", () => {
  it("a lost target gets no calls until it is back", async () => {
    await pooled(["a", "b"], { balance: "roundRobin" });
    world.kill("a");
    await pass(0);
    expect(statuses()).toEqual({ a: "connecting", b: "ready" });
    expect(pool.state).toEqual({ status: "ready" });
    expect(await where(3)).toEqual(["b", "b", "b"]);
    world.down.clear();
    await pass(30_000);
    expect(new Set(await where(2))).toEqual(new Set(["a", "b"]));
  });

  it("while all are lost, calls wait; the state says why", async () => {
    await pooled(["a", "b"]);
    world.kill("a");
    world.kill("b");
    await pass(0);
    expect(pool.state).toMatchObject({ status: "connecting", error: { message: expect.stringContaining("code 9") } });
    const call = pool.unary(methods.where, undefined);
    world.down.delete("b");
    await pass(1000);
    expect(await call).toBe("b");
  });

  it("a call that a draining target refused goes to another", async () => {
    await pooled(["a", "b"], { balance: "roundRobin" });
    void world.sessions.get("a")?.[0]?.drain();
    world.down.add("a");
    expect(await where(2)).toEqual(["b", "b"]);
  });

  it("ready waits for the first target, and says why there is none", async () => {
    world.down.add("a");
    await pooled(["a", "b"]);
    await pool.ready();
    await pool.close();
    world.down.add("b");
    pool = createPool(["a", "b"], world.dial, { isPermanent: () => true });
    expect(await failure(pool.ready())).toMatchObject({ message: expect.stringMatching(/is down/) });
    expect(await failure(pool.unary(methods.where, undefined))).toMatchObject({ code: "unavailable", refused: true });
  });

  it("connect makes the attempts that wait at once", async () => {
    await pooled(["a"], { backoff: { initialMs: 10_000 } });
    world.kill("a");
    await pass(0);
    world.down.clear();
    pool.connect();
    await pass(0);
    expect(await where(1)).toEqual(["a"]);
  });

  it("drained, calls in progress finish and no more are made", async () => {
    await pooled(["a"]);
    const stream = pool.duplex(methods.chat).readable;
    const drained = pool.drain();
    expect(pool.state.status).toBe("draining");
    expect(await failure(pool.unary(methods.where, undefined))).toMatchObject({ code: "unavailable", refused: true });
    for await (const item of stream) expect(item).toBe("a");
    await drained;
    expect(pool.state).toEqual({ status: "closed" });
    await pool.closed;
  });
});

describe("discovery", () => {
  it("resolves again after a while; calls on a target that is gone finish", async () => {
    let found = ["a", "b"];
    await pooled(async () => found, { balance: "roundRobin", refreshMs: 5000 });
    expect(new Set(await where(2))).toEqual(new Set(["a", "b"]));
    const [a] = pool.targets;
    const stream = a?.sessions[0]?.serverStream(methods.open, undefined)[Symbol.asyncIterator]();
    await stream?.next();
    found = ["b", "c"];
    await pass(5000);
    expect(pool.targets.map(({ target }) => target)).toEqual(["b", "c"]);
    expect(await where(4)).toEqual(["b", "c", "b", "c"]);
    const ended = vi.fn<() => void>();
    void world.sessions.get("a")?.[0]?.closed.then(ended);
    await pass(1000);
    expect(ended).not.toHaveBeenCalled();
    await stream?.return?.();
    await pass(0);
    expect(ended).toHaveBeenCalled();
  });

  it("resolves at once when a target is lost, and at most once a second", async () => {
    const resolve = vi.fn<ResolveTargets>(async () => ["a"]);
    await pooled(resolve, { refreshMs: 60_000 });
    expect(resolve).toHaveBeenCalledTimes(1);
    await pass(10_000);
    world.kill("a");
    await pass(0);
    expect(resolve).toHaveBeenCalledTimes(2);
    await pass(999);
    expect(resolve).toHaveBeenCalledTimes(2);
  });

  it("a failure leaves the targets as they are; without any, calls wait and the state says why", async () => {
    const answers: (() => readonly string[])[] = [
      () => {
        throw new Error("no such name");
      },
      () => [],
      () => ["a"],
      () => {
        throw new Error("no answer");
      },
    ];
    await pooled(async () => answers.shift()?.() ?? ["a"], { refreshMs: 5000 });
    expect(pool.state).toMatchObject({ status: "connecting", error: { message: "no such name" } });
    const call = pool.unary(methods.where, undefined);
    await pass(1000);
    expect(pool.state).toMatchObject({ error: { message: "no targets were found" } });
    await pass(1000);
    expect(await call).toBe("a");
    await pass(5000);
    expect(answers).toEqual([]);
    expect(await where(1)).toEqual(["a"]);
  });

  it("an answer that comes after the close changes nothing", async () => {
    const answer = deferred<readonly string[]>();
    await pooled(() => answer.promise);
    await pool.close();
    answer.resolve(["a"]);
    await pass(0);
    expect(world.dials).toBe(0);
  });
});

describe("outliers", () => {
  const fail = (code: Code): Promise<unknown> => pool.unary(methods.fail, code).catch(() => {});
  /** Makes calls until the failing server has failed `count` times. */
  async function failures(count: number, code: Code = "internal"): Promise<void> {
    let left = count;
    while (left > 0) {
      const failed = await pool.unary(methods.fail, code).then(
        () => false,
        () => true,
      );
      if (failed) left--;
    }
  }

  it("failures in a row eject, longer each time", async () => {
    world.sick = "a";
    await pooled(["a", "b"], { balance: "roundRobin" });
    await failures(4);
    expect(statuses()).toEqual({ a: "ready", b: "ready" });
    await failures(1);
    expect(statuses()).toEqual({ a: "ejected", b: "ready" });
    expect(await where(3)).toEqual(["b", "b", "b"]);
    await pass(29_999);
    expect(statuses()).toMatchObject({ a: "ejected" });
    await pass(1);
    expect(statuses()).toMatchObject({ a: "ready" });
    await failures(5);
    expect(pool.targets[0]?.ejectedUntil).toBe(Date.now() + 60_000);
    await pass(60_000);
    expect(statuses()).toMatchObject({ a: "ready" });
    // Two are forgotten after twice `ejectionMs`.
    await pass(60_000);
    await failures(5);
    expect(pool.targets[0]?.ejectedUntil).toBe(Date.now() + 30_000);
  });

  it("a share of failures ejects, once there are enough calls", async () => {
    world.sick = "a";
    await pooled(["a", "b"], {
      balance: firstOf,
      outliers: { consecutiveFailures: 100, failureRatio: 0.5, minCalls: 6 },
    });
    for (let i = 0; i < 3; i++) {
      await where(1);
      expect(statuses()).toMatchObject({ a: "ready" });
      await fail("unavailable");
    }
    expect(statuses()).toMatchObject({ a: "ejected" });
  });

  it("no more than their share, and never the only target", async () => {
    await pooled(["a", "b", "c"], { balance: "roundRobin" });
    for (let i = 0; i < 30; i++) await fail("internal");
    expect(Object.values(statuses()).filter((status) => status === "ejected")).toHaveLength(1);
    await pool.close();
    await pooled(["a"]);
    for (let i = 0; i < 30; i++) await fail("internal");
    expect(statuses()).toEqual({ a: "ready" });
  });

  it("an ejected target is better than none", async () => {
    world.sick = "a";
    await pooled(["a", "b"], { balance: "roundRobin" });
    await failures(5);
    world.kill("b");
    await pass(0);
    expect(await where(1)).toEqual(["a"]);
  });

  it("answers that are the caller's own fault, and lost sessions, do not count", async () => {
    await pooled(["a", "b"], { outliers: { consecutiveFailures: 1 } });
    for (const code of ["not_found", "invalid_argument", "unauthenticated", "cancelled"] as const) await fail(code);
    const lost = failure(firstOf(firstOf(pool.targets).sessions).unary(methods.never, undefined));
    const calls = [1, 2, 3, 4].map(() => failure(pool.unary(methods.never, undefined)));
    await pass(0);
    for (const name of ["a", "b"]) for (const session of world.sessions.get(name) ?? []) void session.close();
    await Promise.all([lost, ...calls]);
    await pass(10_000);
    expect(statuses()).toEqual({ a: "ready", b: "ready" });
  });

  it("false turns it off", async () => {
    await pooled(["a", "b"], { outliers: false });
    for (let i = 0; i < 30; i++) await fail("internal");
    expect(statuses()).toEqual({ a: "ready", b: "ready" });
  });
});

describe("health", () => {
  /** A health check whose reports the test chooses, for all sessions. */
  class Told {
    readonly tell: ((able: boolean) => void)[] = [];
    fail: (() => void) | undefined;
    watches = 0;

    readonly check = async function* (this: Told, _: unknown, signal: AbortSignal): AsyncGenerator<boolean> {
      const index = this.watches++;
      while (!signal.aborted) {
        yield await new Promise<boolean>((resolve, reject) => {
          this.tell[index] = resolve;
          this.fail = () => reject(new RpcError("internal", "no health"));
          signal.addEventListener("abort", () => reject(new RpcError("cancelled", "stopped")), { once: true });
        });
      }
    }.bind(this);
  }

  it("a target gets calls once its peer is able to, and while it is", async () => {
    const told = new Told();
    await pooled(["a", "b"], { balance: "roundRobin", health: told.check });
    expect(statuses()).toEqual({ a: "unhealthy", b: "unhealthy" });
    const waiting = pool.unary(methods.where, undefined);
    told.tell[1]?.(true);
    expect(await waiting).toBe("b");
    told.tell[0]?.(true);
    await pass(0);
    expect(new Set(await where(2))).toEqual(new Set(["a", "b"]));
    told.tell[1]?.(false);
    await pass(0);
    expect(statuses()).toEqual({ a: "ready", b: "unhealthy" });
    expect(await where(2)).toEqual(["a", "a"]);
  });

  it("a check that fails is made again", async () => {
    const told = new Told();
    await pooled(["a"], { health: told.check });
    told.tell[0]?.(true);
    await pass(0);
    expect(statuses()).toEqual({ a: "ready" });
    told.fail?.();
    await pass(0);
    expect(statuses()).toEqual({ a: "unhealthy" });
    await pass(100);
    expect(told.watches).toBe(2);
    told.tell[1]?.(true);
    await pass(0);
    expect(statuses()).toEqual({ a: "ready" });
  });
});

it("counts notifications that a target which has just left did not acknowledge once", async () => {
  const tell = defineMethod(service, "notify", "tell", { id: 6, input: text });
  let list = ["one"];
  const silent = async (): Promise<Session> => {
    const [ours, theirs] = createMemoryPair();
    theirs.attach({ onStream: () => {}, onClosed: () => {} });
    return createSession(ours, { limits: { maxAcknowledgeMs: 400 } });
  };
  pool = createPool(async () => list, silent, { refreshMs: 200 });
  await pool.ready();
  for (let i = 0; i < 3; i++) await pool.notify(tell, "");
  list = ["two"];
  await pass(400);
  const closed = pool.close({ timeoutMs: 50 });
  await pass(500);
  expect(await closed).toEqual({ unacknowledged: 3 });
  expect(await pool.close()).toEqual({ unacknowledged: 3 });
});
