import { createConnection } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { endingSessions } from "./stepped.js";
import { pass, startVirtualTime } from "../../packages/core/test/virtual-time.js";

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

beforeEach(() => startVirtualTime());
afterEach(() => void vi.useRealTimers());

/** Reads the whole stream with sessions that end at the given step of each; returns the items, and the steps of the last session. */
async function read(end: number, by: "client" | "server", how: "close" | "drain"): Promise<[number[], number]> {
  const sessions = endingSessions({ routers: [router] }, end, (session) => void session[by][how]());
  const connection = createConnection(sessions.dial);
  const taken: number[] = [];
  const reading = (async () => {
    for await (const { id } of connection.serverStream(follow, undefined)) taken.push(id);
  })();
  const ended: true[] = [];
  void reading.then(() => ended.push(true));
  for (let i = 0; ended.length === 0 && i < 200; i++) await pass(100);
  await reading;
  await connection.close();
  return [taken, sessions.steps];
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
