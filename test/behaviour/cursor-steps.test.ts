import { createConnection, createMemoryPair, createSession } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { TransportSession } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stepped } from "./stepped.js";

const service = { name: "test.v1.Steps", id: 4712 };
interface Item {
  readonly id: number;
  readonly before: number | null;
}
const follow = defineMethod(service, "server_stream", "follow", {
  id: 1,
  output: uncheckedCodec<Item>(),
  cursor: { field: "id", predecessor: "before" },
});
const UP_TO = 6;

const router = createRouter({ follow }, { follow: (_, { resumeFrom }) => items(resumeFrom) });

async function* items(from: string | undefined): AsyncGenerator<Item> {
  for (let id = Number(from ?? 0) + 1; id <= UP_TO; id++) {
    await Promise.resolve();
    yield { id, before: id === 1 ? null : id - 1 };
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Reads the whole stream with sessions that end at the given step of each; returns the items, and the steps of the last session. */
async function read(end: number, by: "client" | "server", how: "close" | "drain"): Promise<[number[], number]> {
  let steps = 0;
  /** Later sessions live longer, or no stream would ever come to its end. */
  let longer = 0;
  const connection = createConnection(async () => {
    const pair = createMemoryPair();
    const at = end + longer++;
    let passed = 0;
    const onStep = (): void => {
      steps = ++passed;
      if (passed === at) void (by === "client" ? client : server)[how]();
    };
    const wrapped = (transport: TransportSession): TransportSession => stepped(transport, onStep);
    const server = createSession(wrapped(pair[1]), { routers: [router] });
    const client = createSession(wrapped(pair[0]));
    return client;
  });
  const taken: number[] = [];
  const reading = (async () => {
    for await (const { id } of connection.serverStream(follow, undefined)) taken.push(id);
  })();
  const ended: true[] = [];
  void reading.then(() => ended.push(true));
  for (let i = 0; ended.length === 0 && i < 200; i++) await vi.advanceTimersByTimeAsync(100);
  await reading;
  await connection.close();
  return [taken, steps];
}

describe.each(["client", "server"] as const)("at every step of a session, the %s", (by) => {
  it.each(["close", "drain"] as const)("C80 ends it by %s: all items come once", async (how) => {
    const all = Array.from({ length: UP_TO }, (_, index) => index + 1);
    const [whole, steps] = await read(Number.POSITIVE_INFINITY, by, how);
    expect(whole).toEqual(all);
    for (let end = 1; end <= steps; end++) {
      const [taken] = await read(end, by, how);
      expect(taken, `ended at step ${end} of ${steps}`).toEqual(all);
    }
  });
});
