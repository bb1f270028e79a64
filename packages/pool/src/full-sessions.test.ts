import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Connection, Limits, RpcError, Session, SessionOptions } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createConnection, createSession } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";
import { hash } from "./rendezvous.js";
import { createPool } from "./pool.js";
import { meanwhile, pass, startVirtualTime } from "../../core/test/virtual-time.js";

/** Tests of connections with more calls than the peer processes at once. */

const service = { name: "test.v1.Full", id: 79 };
const number = uncheckedCodec<number>();
const value = uncheckedCodec<unknown>();
const slow = defineMethod(service, "unary", "slow", { id: 1, input: number, output: number });
const count = defineMethod(service, "server_stream", "count", { id: 2, input: number, output: number });
const take = defineMethod(service, "unary", "take", { id: 3, input: value, output: number });
const hang = defineMethod(service, "unary", "hang", { id: 4, input: number, output: number });

const CALL_MS = 100;

let open: { close(options: { closeCode: number }): unknown }[];
/** Inputs of calls, in the order in which their handlers started. */
let begun: number[];
let running: number;
let mostRunning: number;
let tick: Promise<void> | undefined;
beforeEach(() => {
  startVirtualTime();
  open = [];
  begun = [];
  running = 0;
  mostRunning = 0;
  tick = undefined;
});
afterEach(async () => {
  for (const one of open) await one.close({ closeCode: 1 });
  if (vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  vi.useRealTimers();
});

function sleep(ms: number): Promise<void> {
  // oxlint-disable-next-line eslint/no-restricted-globals -- by the virtual clock
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function work(input: number): Promise<number> {
  begun.push(input);
  mostRunning = Math.max(mostRunning, ++running);
  // One timer for all that begin at the same moment.
  tick ??= sleep(CALL_MS);
  await tick;
  tick = undefined;
  running--;
  return input;
}

/** Creates a session with a new server that has these limits. */
function session(limits: Partial<Limits> = {}, options: SessionOptions = {}): Session {
  const [ours, theirs] = createMemoryPair();
  const router = createRouter(
    { slow, count, take, hang },
    {
      slow: work,
      count: async function* (input) {
        yield await work(input);
      },
      take: () => work(0),
      hang: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(0))),
    },
  );
  createSession(theirs, { routers: [router], limits, onError: () => {} });
  return createSession(ours, options);
}

function connected(limits?: Partial<Limits>, ours: Partial<Limits> = {}, options?: SessionOptions): Connection {
  const connection = createConnection(async () => session(limits, options), { limits: ours });
  open.push(connection);
  return connection;
}

const numbers = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** Advances the virtual time until all calls have a response. Fails with the first error, or if that takes too long. */
async function answers<T>(calls: readonly Promise<T>[], withinMs: number): Promise<readonly T[]> {
  const since = Date.now();
  const all = await meanwhile(Promise.all(calls));
  expect(Date.now() - since).toBeLessThanOrEqual(withinMs);
  return all;
}

async function failure(call: Promise<unknown>): Promise<RpcError> {
  return call.then(
    () => expect.unreachable(),
    (error: RpcError) => error,
  );
}

it("10,000 calls at once with default limits all succeed, in waves of limits.maxCalls, in order", async () => {
  const connection = connected();
  const inputs = numbers(10_000);
  const calls = inputs.map((input) => connection.unary(slow, input));
  expect(await answers(calls, 4 * CALL_MS)).toEqual(inputs);
  expect(begun).toEqual(inputs);
  expect(mostRunning).toBe(4096);
});

it("a server with more places says so, and they are used", async () => {
  const connection = connected({ maxCalls: 9000, maxWaitingCalls: 1000 });
  await answers([connection.unary(slow, 0)], 2 * CALL_MS);
  const calls = numbers(9000).map((input) => connection.unary(slow, input));
  await answers(calls, 2 * CALL_MS - 1);
  expect(mostRunning).toBe(9000);
});

it("calls that went out before the server said how few it takes are made again", async () => {
  const connection = connected({ maxCalls: 8 });
  const firstItem = async (input: number): Promise<unknown> => {
    const { value } = await connection.serverStream(count, input).values().next();
    return value;
  };
  const calls = numbers(100).map((input) => (input % 2 === 0 ? connection.unary(slow, input) : firstItem(input)));
  expect(await answers(calls, 14 * CALL_MS)).toEqual(numbers(100));
  expect(begun.toSorted((a, b) => a - b)).toEqual(numbers(100));
  expect(mostRunning).toBe(8);
});

it("calls that a peer refuses which never says how many it takes wait until others are over", async () => {
  // Each call has a stream of its own: there is no hello.
  const connection = connected({ maxCalls: 8 }, {}, { via: "stream" });
  const calls = numbers(100).map((input) => connection.unary(slow, input));
  await answers(calls, 14 * CALL_MS);
  expect(begun.toSorted((a, b) => a - b)).toEqual(numbers(100));
  expect(mostRunning).toBe(8);
});

it("calls that the server has no memory for wait until others are over", async () => {
  const connection = connected({ maxFrameBytes: 65_536, maxSessionBytes: 524_288 });
  const calls = numbers(40).map(() => connection.unary(take, "x".repeat(60_000)));
  await answers(calls, 20 * CALL_MS);
  expect(begun).toHaveLength(40);
});

it("a call that finds no memory however many others are over fails with the server's error", async () => {
  const connection = connected({ maxFrameBytes: 65_536, maxSessionBytes: 524_288 });
  const others = numbers(200).map(() => connection.unary(slow, 1));
  const call = failure(
    connection.unary(
      take,
      Array.from({ length: 60_000 }, () => 0),
    ),
  );
  await answers(others, 4 * CALL_MS);
  const more = numbers(20).map(async (at) => {
    await sleep(at * 10);
    return connection.unary(slow, 1);
  });
  await answers(more, 10 * CALL_MS);
  expect(await meanwhile(call)).toMatchObject({ code: "resource_exhausted", refused: true });
});

it("a refused call delays others only for a moment, also next to a call that stays open", async () => {
  const connection = connected({ maxFrameBytes: 65_536, maxSessionBytes: 524_288 });
  const abort = new AbortController();
  const lasting = failure(connection.unary(hang, 0, { signal: abort.signal }));
  await pass(10);
  const tooLarge = failure(
    connection.unary(
      take,
      Array.from({ length: 60_000 }, () => 0),
    ),
  );
  await pass(10);
  await answers([connection.unary(slow, 1)], 400);
  await answers([connection.unary(slow, 2)], 400);
  expect(await meanwhile(tooLarge)).toMatchObject({ code: "resource_exhausted", refused: true });
  abort.abort();
  await lasting;
});

it("a call waits for its turn as long as its deadline or signal allows", async () => {
  const connection = connected({ maxCalls: 1 });
  const first = connection.unary(slow, 0);
  await pass(10);
  const abort = new AbortController();
  const late = failure(connection.unary(slow, 1, { timeoutMs: 50 }));
  const aborted = failure(connection.unary(slow, 2, { signal: abort.signal }));
  const left = connection.unary(slow, 3, { timeoutMs: 500 });
  abort.abort();
  expect(await aborted).toMatchObject({ code: "cancelled" });
  await pass(50);
  const { code, message } = await late;
  expect(code).toBe("deadline_exceeded");
  expect(message).toMatch(/^the server did not take the call within 50 ms: .*maxCalls/);
  await answers([first, left], 2 * CALL_MS);
  expect(begun).toEqual([0, 3]);
});

it("a call waits beyond limits.maxQueuedMs while those before it begin, and no longer than that while none does", async () => {
  const connection = connected({ maxCalls: 1 }, { maxQueuedMs: 300 });
  await answers(
    numbers(8).map((input) => connection.unary(slow, input)),
    9 * CALL_MS,
  );
  const stuck = session({ maxCalls: 1 });
  open.push(stuck);
  const other = createConnection(async () => stuck, { limits: { maxQueuedMs: 50 } });
  open.push(other);
  const first = other.unary(slow, 0);
  await pass(0);
  const waiting = failure(other.unary(slow, 1));
  await pass(50);
  const { code, refused, message } = await waiting;
  expect({ code, refused }).toEqual({ code: "resource_exhausted", refused: true });
  expect(message).toMatch(/^the server did not take the call within limits\.maxQueuedMs \(50 ms\): .*maxCalls/);
  await answers([first], 2 * CALL_MS);
});

it("a call that is not to wait is refused by the server", async () => {
  const connection = connected({ maxCalls: 1 });
  const first = connection.unary(slow, 0);
  await pass(10);
  const error = await failure(connection.unary(slow, 1, { waitForReady: false }));
  expect(error).toMatchObject({ code: "resource_exhausted", refused: true });
  await answers([first], 2 * CALL_MS);
});

it("a call for which the queue has no room names the option to raise", async () => {
  const connection = connected({ maxCalls: 1 }, { maxQueuedBytes: 1200 });
  await answers([connection.unary(slow, 0)], 2 * CALL_MS);
  const calls = numbers(3).map((input) => connection.unary(slow, input));
  const error = await failure(connection.unary(slow, 3));
  expect(error).toMatchObject({ code: "resource_exhausted", refused: true });
  expect(error.message).toContain("limits.maxQueuedBytes");
  expect(error.hint).toContain("raise `limits.maxQueuedBytes`");
  await answers(calls, 4 * CALL_MS);
});

it("a cancelled call makes room for the next", async () => {
  const connection = connected({ maxCalls: 2 });
  await answers([connection.unary(slow, 0)], 2 * CALL_MS);
  const abort = new AbortController();
  const given = numbers(2).map(() => failure(connection.unary(hang, 0, { signal: abort.signal })));
  await pass(10);
  const next = connection.unary(slow, 9);
  abort.abort();
  await Promise.all(given);
  await answers([next], 2 * CALL_MS);
});

it("a pool makes calls where there are places, and the rest wait", async () => {
  const pool = createPool(["a", "b"], async () => session({ maxCalls: 4 }));
  open.push(pool);
  await pool.ready();
  await pass(0);
  await answers(
    numbers(8).map((input) => pool.unary(slow, input)),
    3 * CALL_MS,
  );
  const calls = numbers(40).map((input) => pool.unary(slow, input));
  expect(await answers(calls, 8 * CALL_MS)).toEqual(numbers(40));
  expect(mostRunning).toBe(8);
});

it("a call of a pool by key does not wait behind one whose target is full", async () => {
  const key = ({ input }: { readonly input: unknown }): string => String((input as number) % 10);
  const balance = hash(key);
  const pool = createPool(["a", "b"], async () => session({ maxCalls: 1 }), { balance });
  open.push(pool);
  await pool.ready();
  await pass(0);
  const abort = new AbortController();
  // Keys of both targets: with one place each, the calls that hang keep one target full.
  const lasting = failure(pool.unary(hang, 0, { signal: abort.signal }));
  await pass(10);
  const calls = numbers(10).map((input) => pool.unary(slow, input));
  const settled = calls.map(async (call) => call.then(() => true).catch(() => false));
  await pass(10 * CALL_MS);
  abort.abort();
  await lasting;
  await meanwhile(Promise.all(settled));
  // Those of the other target ended before the target that was full had a place.
  expect(begun.length).toBe(10);
  expect(begun.indexOf(0)).toBeGreaterThan(0);
});
