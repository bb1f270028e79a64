import { type Connection, createConnection, RpcError, ServerLoad } from "@quicrpc/core";
import type { Via } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Handlers, resumable, upTo } from "./resumable-service.js";
import { endingSessions } from "./stepped.js";
import { pass, startVirtualTime } from "../../packages/core/test/virtual-time.js";

const UP_TO = 5;

beforeEach(() => startVirtualTime());
afterEach(() => void vi.useRealTimers());

/** Outcome of a call: its items, and how it ended. */
type Outcome = readonly [items: readonly number[], end: string];

const calls: Record<string, (connection: Connection, via: Via) => Promise<Outcome>> = {
  "server stream": async (connection, via) => {
    const stream = connection.serverStream(resumable.count, UP_TO, { via });
    const [items, end] = await read(stream);
    return [items, `${end} ${stream.responseMetadata.get("asked")} ${stream.trailers.get("sum")}`];
  },
  "client stream": async (connection, via) => {
    try {
      return [await connection.clientStream(resumable.collect, slowly(), { via }), "end"];
    } catch (error) {
      return [[], (error as RpcError).code];
    }
  },
  duplex: async (connection, via) => {
    const { readable, writable } = connection.duplex(resumable.echo, { via });
    void (async () => {
      const writer = writable.getWriter();
      for (const item of upTo(UP_TO)) await writer.write(item);
      await writer.close();
    })().catch(() => {});
    return read(readable);
  },
};

async function* slowly(): AsyncGenerator<number> {
  for (const item of upTo(UP_TO)) {
    await Promise.resolve();
    yield item;
  }
}

async function read(stream: AsyncIterable<number>): Promise<Outcome> {
  const items: number[] = [];
  try {
    for await (const item of stream) items.push(item);
    return [items, "end"];
  } catch (error) {
    return [items, (error as RpcError).code];
  }
}

/** Makes a call over sessions that end at the given step of each; returns what it came to, and the steps of the last session. */
async function run(
  call: (connection: Connection) => Promise<Outcome>,
  handlers: Handlers,
  end: number,
  by: "client" | "server",
): Promise<[Outcome, number]> {
  const load = new ServerLoad();
  const options = { routers: [handlers.router], load, onError: () => {} };
  const sessions = endingSessions(options, end, (session) => void session[by].close({ closeCode: 9 }));
  const connection = createConnection(sessions.dial);
  const calling = call(connection);
  const ended: true[] = [];
  void calling.then(() => ended.push(true));
  for (let i = 0; ended.length === 0 && i < 200; i++) await pass(100);
  const outcome = await calling;
  await pass(0);
  await connection.close({ closeCode: 9 });
  // Calls whose caller knows that they are over, and could not say so any more, are kept for as long as it asked.
  await pass(300_000);
  expect(handlers.open, "handlers that were not left").toBe(0);
  expect(load.suspended.size, "calls that are kept").toBe(0);
  expect(load.handlers, "handlers that count").toBe(0);
  load.measure();
  expect(load.held, "bytes that are held").toBe(0);
  return [outcome, sessions.steps];
}

const cases = Object.entries(calls).flatMap(([kind, call]) =>
  (["stream", "lane"] as const).flatMap((via) =>
    (["client", "server"] as const).flatMap((by) =>
      [undefined, new RpcError("aborted", "told")].map((failure) => ({
        kind,
        call,
        via,
        by,
        failure,
        end: failure?.code ?? "end",
      })),
    ),
  ),
);

describe.each(cases)(
  "a $kind by a $via that the $by loses at every step, to its $end",
  ({ call, via, by, failure }) => {
    it("C85 C86 all items and its end arrive once, of one handler", async () => {
      const make = (): Handlers => Object.assign(new Handlers(), { failure });
      const [whole, steps] = await run((connection) => call(connection, via), make(), Number.POSITIVE_INFINITY, by);
      for (let end = 1; end <= steps; end++) {
        const handlers = make();
        const [outcome] = await run((connection) => call(connection, via), handlers, end, by);
        expect(outcome, `ended at step ${end} of ${steps}`).toEqual(whole);
        expect(handlers.entered).toBe(1);
      }
    });
  },
);
