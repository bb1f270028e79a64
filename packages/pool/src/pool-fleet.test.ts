import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createSession, type RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { hash } from "./rendezvous.js";
import { createPool, type Pool, type PoolOptions } from "./pool.js";
import type { ResolveTargets, TargetSpec } from "./discovery.js";
import { pass, startVirtualTime } from "../../core/test/virtual-time.js";

const service = { name: "test.v1.Fleet", id: 80 };
const text = uncheckedCodec<string>();
const methods = {
  where: defineMethod(service, "unary", "where", { id: 1, input: text, output: text }),
  chat: defineMethod(service, "duplex", "chat", { id: 2, input: text, output: text }),
};

let pool: Pool;
let served: string[];
let down: Set<string>;
let overloaded: boolean;
const sessions = new Map<string, Session[]>();

async function dial(target: string): Promise<Session> {
  if (down.has(target)) throw new Error(`${target} is down`);
  const [ours, theirs] = createMemoryPair();
  const router = createRouter(methods, {
    where: () => target,
    async *chat() {
      yield target;
    },
  });
  const loadShedder = {
    objection(): string | undefined {
      served.push(target);
      return overloaded ? "too much to do" : undefined;
    },
  };
  sessions.set(target, [...(sessions.get(target) ?? []), createSession(theirs, { routers: [router], loadShedder })]);
  return createSession(ours);
}

beforeEach(() => {
  startVirtualTime();
  [served, down, overloaded] = [[], new Set(), false];
  sessions.clear();
});
afterEach(async () => {
  await pool.close({ closeCode: 1 });
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.useRealTimers();
});

async function pooled(targets: readonly (string | TargetSpec)[] | ResolveTargets, options: PoolOptions): Promise<void> {
  pool = createPool(targets, dial, options);
  pool.connect();
  await pass(0);
}

function lose(target: string): Promise<unknown> {
  down.add(target);
  for (const session of sessions.get(target) ?? []) void session.close({ closeCode: 9 });
  return pass(0);
}

const ready = (): string[] => pool.targets.filter(({ status }) => status === "ready").map(({ target }) => target);
const call = (room: string): Promise<string> => pool.unary(methods.where, room);
const failure = (answer: Promise<unknown>): Promise<RpcError> =>
  answer.then(
    () => Promise.reject(new Error("the call went well")),
    (error: RpcError) => error,
  );

const targets = ["a", "b", "c", "d", "e", "f"];
const rooms = Array.from({ length: 30 }, (_, i) => `room ${i}`);
const byRoom = hash(({ input, options }) => {
  if (input === "broken") throw new Error("this key cannot be made");
  return (input as string | undefined) ?? new Map(options?.metadata as Iterable<[string, string]>).get("room");
});

describe("hash", () => {
  it("calls of one key meet on one target, by whichever pool; those of a lost target move, and come back", async () => {
    await pooled(targets, { balance: byRoom });
    const homes = await Promise.all(rooms.map(call));
    expect(new Set(homes)).toEqual(new Set(targets));
    const other = createPool(targets.toReversed(), dial, { balance: byRoom });
    await other.ready();
    await pass(0);
    expect(await Promise.all(rooms.map((room) => other.unary(methods.where, room)))).toEqual(homes);
    await other.close();
    await lose("c");
    const meanwhile = await Promise.all(rooms.map(call));
    meanwhile.forEach((target, i) => (homes[i] === "c" ? expect(target).not.toBe("c") : expect(target).toBe(homes[i])));
    down.clear();
    await pass(30_000);
    expect(await Promise.all(rooms.map(call))).toEqual(homes);
  });

  it("calls that wait find their key's target, and streams by what goes with them", async () => {
    await pooled(targets, { balance: byRoom });
    const homes = await Promise.all(rooms.map(call));
    await pool.close();
    down = new Set(targets);
    await pooled(targets, { balance: byRoom });
    const waiting = Promise.all(rooms.map(call));
    // The first target that is there takes what waits: it would else wait for a target that may be gone for good.
    down.clear();
    await pass(30_000);
    await waiting;
    expect(await Promise.all(rooms.map(call))).toEqual(homes);
    for await (const target of pool.duplex(methods.chat, { metadata: [["room", "room 7"]] }).readable) {
      expect(target).toBe(homes[7]);
    }
  });

  it("what the function throws is the call's error, also of one that waits", async () => {
    down = new Set(targets);
    await pooled(targets, { balance: byRoom });
    const waiting = failure(call("broken"));
    down.clear();
    await pass(30_000);
    for (const error of [await waiting, await failure(call("broken"))]) {
      expect(error).toMatchObject({ code: "internal", message: expect.stringContaining("this key cannot be made") });
    }
    expect(await call("room 1")).toBeTruthy();
  });
});

describe("a subset", () => {
  const subset = { size: 2, client: "pod-3" };

  it("has sessions with so many targets, and with as many others while none of them is of use", async () => {
    await pooled(targets, { subset });
    const first = ready();
    expect(first).toHaveLength(2);
    await pool.close();
    await pooled(targets, { subset });
    expect(ready()).toEqual(first);
    await lose(first[0] ?? "");
    expect(ready()).toEqual([first[1]]);
    await lose(first[1] ?? "");
    expect(ready()).toHaveLength(2);
    expect(first).not.toContain(await call("x"));
    down.clear();
    await pass(30_000);
    expect(first).toContain(await call("x"));
  });

  it("follows the list of targets: it leaves one whose place another takes", async () => {
    let found: readonly string[] = targets;
    await pooled(async () => found, { subset, refreshMs: 1000 });
    const first = ready();
    found = targets.filter((target) => target !== first[0]);
    await pass(1000);
    const second = ready();
    expect(second).toHaveLength(2);
    expect(second).toContain(first[1]);
    found = targets;
    await pass(1000);
    expect(ready()).toEqual(first);
    const left = second.find((target) => !first.includes(target)) as string;
    await sessions.get(left)?.[0]?.closed;
  });

  it("takes a whole number, and no hash", async () => {
    await pooled(targets, { subset });
    expect(() => createPool(targets, dial, { subset: { size: 0 } })).toThrow(/subset.size is 0/);
    expect(() => createPool(targets, dial, { subset, balance: byRoom })).toThrow(/hash and subset/);
  });
});

it("when all have too much to do, second tries stop: they are few beside the calls", async () => {
  await pooled(targets, { outliers: false });
  const answers = (count: number): Promise<unknown> => Promise.all(rooms.slice(0, count).map(call));
  const refusals = (): Promise<unknown> => Promise.all(rooms.map((room) => failure(call(room))));
  await answers(10);
  served = [];
  overloaded = true;
  await refusals();
  // Half of 10 tokens, of which each second try takes one, and the last one that is allowed leaves more than half.
  expect(served).toHaveLength(rooms.length + 4);
  overloaded = false;
  for (let i = 0; i < 4; i++) await answers(30);
  served = [];
  overloaded = true;
  // Many calls: one may find no other target but its own by chance.
  await refusals();
  expect(served).toHaveLength(rooms.length + 4);
});
