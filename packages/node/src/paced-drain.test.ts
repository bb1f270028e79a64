import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { checkDrain, pacedDrain } from "./paced-drain.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  if (timers > 0) throw new Error(`${timers} timers are left`);
});

interface Pair {
  readonly server: Session;
  readonly client: Session;
}

function pairs(count: number): Pair[] {
  return Array.from({ length: count }, () => {
    const [near, far] = createMemoryPair();
    return { server: createSession(far), client: createSession(near) };
  });
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const left = (all: readonly Pair[]): number => all.filter(({ client }) => !client.takesCalls).length;
const serversOf = (all: readonly Pair[]): Session[] => all.map(({ server }) => server);

it("tells sessions one after the other, each with what is left of the time and where to go", async () => {
  const all = pairs(10);
  const done = pacedDrain(serversOf(all), { timeoutMs: 5000, spreadMs: 1000, to: "quic://b:1" });
  await pass(1);
  for (let told = 1; told <= 10; told++) {
    expect(left(all)).toBe(told);
    await pass(100);
  }
  expect(all.map(({ client }) => client.departure?.withinMs)).toEqual(Array.from(all, (_, i) => 5000 - 100 * i));
  expect(all.map(({ client }) => client.departure)).toEqual(
    Array.from(all, () => expect.objectContaining({ to: "quic://b:1", final: true }) as object),
  );
  expect(await done).toHaveLength(10);
});

it("takes a millisecond for each session where nothing is said, and a quarter of the time at most", async () => {
  const all = pairs(400);
  const done = pacedDrain(serversOf(all), { timeoutMs: 400 });
  await pass(49);
  expect(left(all)).toBeGreaterThan(150);
  expect(left(all)).toBeLessThan(250);
  await pass(60);
  expect(left(all)).toBe(400);
  await done;
  const few = pairs(4);
  const drained = pacedDrain(serversOf(few), { timeoutMs: 30_000 });
  await pass(6);
  expect(left(few)).toBe(4);
  await drained;
});

it("tells all at once where it is to", async () => {
  const all = pairs(100);
  const done = pacedDrain(serversOf(all), { timeoutMs: 400, spreadMs: 0 });
  await pass(2);
  expect(left(all)).toBe(100);
  await done;
});

it("does not wait for sessions that end by themselves, nor longer than there is time", async () => {
  const all = pairs(3);
  const done = pacedDrain(serversOf(all), { timeoutMs: 1000, spreadMs: 60_000 });
  await pass(1);
  for (const { client } of all.slice(1)) void client.close();
  await pass(2);
  expect(await done).toHaveLength(3);
});

it.each([{ to: "b" }, { spreadMs: -1 }, { spreadMs: Number.NaN }])("refuses %o", (options) => {
  expect(() => checkDrain(options)).toThrow(TypeError);
});
