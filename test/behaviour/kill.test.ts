import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import type { CloseInfo } from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { kinds, type Kind } from "./kinds.js";
import { methods as plain } from "./service.js";
import { stepped } from "./stepped.js";
import { collect, timers } from "./tools.js";

const service = { name: "test.v1.Killed", id: 63 };
const n = zodCodec(z.int());
const methods = {
  unary: defineMethod(service, "unary", "unary", { id: 1, input: n, output: n }),
  note: defineMethod(service, "notify", "note", { id: 2, input: n }),
  down: defineMethod(service, "server_stream", "down", { id: 3, input: n, output: n }),
  up: defineMethod(service, "client_stream", "up", { id: 4, input: n, output: n }),
  both: defineMethod(service, "duplex", "both", { id: 5, input: n, output: n }),
};

/** The most that are tried: after them a long call only goes on as it did. */
const STAGES = 40;
/** Stages at which a call begins: of the later ones of a long call, which are alike, every third is tried. */
const FIRST_STAGES = 12;

/** Handlers that were entered and not left. */
class Inside {
  count = 0;

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.count++;
    try {
      return await work();
    } finally {
      this.count--;
    }
  }

  async *iterate<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    this.count++;
    try {
      yield* items;
    } finally {
      this.count--;
    }
  }
}

function router(inside: Inside) {
  return createRouter(methods, {
    unary: (input) => inside.run(async () => (await turn(), input)),
    note: () => inside.run(turn),
    down: (count) => inside.iterate(counting(count)),
    up: (items) => inside.run(async () => (await collect(items)).length),
    both: (items) => inside.iterate(items),
  });
}

type Call = (client: Session, via: "lane" | "stream") => Promise<unknown>[];

/** Each makes one call that passes every stage there is, and gives all its promises. */
const calls: Record<string, Call> = {
  unary: (client, via) => [client.unary(methods.unary, 1, { via, timeoutMs: 60_000 })],
  notify: (client, via) => [client.notify(methods.note, 1, { via }), client.unary(methods.unary, 1, { via })],
  "server stream": (client, via) => [collect(client.serverStream(methods.down, 3, { via }))],
  "server stream, by its reader": (client, via) => {
    const reader = client.serverStream(methods.down, 3, { via }).getReader();
    return [reader.read(), reader.read(), reader.read(), reader.read(), reader.closed];
  },
  "client stream": (client, via) => [client.clientStream(methods.up, counting(3), { via, timeoutMs: 60_000 })],
  duplex: (client, via) => {
    const { readable, writable } = client.duplex(methods.both, { via });
    const writer = writable.getWriter();
    const writing = (async () => {
      for (let i = 0; i < 3; i++) await writer.write(i);
      // Of a stream that has failed, a close says only that it is too late for one (WHATWG Streams §5.5.4).
      await writer.close().catch(() => writer.closed);
    })();
    return [writing, writer.closed, collect(readable)];
  },
  "a call that calls back": (client, via) => [client.unary(plain.callBack, { text: "a" }, { via })],
  "a stream that is stalled": (client, via) => {
    const stream = client.serverStream(methods.down, 100_000, { via });
    return [
      turn()
        .then(turn)
        .then(() => collect(stream.pipeThrough(first(12_000)))),
    ];
  },
};

describe.each(kinds)("killed: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    it.each(Object.entries(calls))(
      "C63 the session is killed at every stage of a call: %s",
      { timeout: 60_000 },
      async (_, call) => {
        const before = timers();
        let kills = 0;
        for (let at = 0; at < STAGES; at += at < FIRST_STAGES ? 1 : 3) {
          const byClient = await killedAt(at, "client", kind, (client) => call(client, via));
          const byServer = await killedAt(at, "server", kind, (client) => call(client, via));
          if (!byClient && !byServer) break;
          kills += Number(byClient) + Number(byServer);
        }
        expect(kills).toBeGreaterThan(3);
        while (timers() > before) await turn();
      },
    );
  });
});

interface Ending {
  close(info: CloseInfo): unknown;
}

/**
 * Makes the call on a session that one side ends at the given step: of the transport, or of the event loop where the
 * transport is out of reach. False if the call was over before.
 */
async function killedAt(
  at: number,
  killer: "client" | "server",
  kind: Kind,
  call: (client: Session) => Promise<unknown>[],
): Promise<boolean> {
  const inside = new Inside();
  /** The transports, then the sessions over them. */
  const ends: { client?: Ending; server?: Ending } = {};
  let killed: string | undefined;
  let steps = 0;
  const step = (name: string): void => {
    if (killed !== undefined || steps++ !== at) return;
    killed = name;
    void ends[killer]?.close({ closeCode: 7, reason: "killed" });
  };
  const pair = await kind.connect(undefined, {
    server: { routers: [router(inside)] },
    wrap: (transport, side) => {
      ends[side] = transport;
      return stepped(transport, (name) => step(`${name} at the ${side}`));
    },
  });
  const stepsOfTransport = ends.client !== undefined;
  Object.assign(ends, { client: pair.client, server: pair.server });
  const outcomes = Promise.allSettled(call(pair.client));
  if (!stepsOfTransport) {
    for (let turns = 0; turns < STAGES; turns++) {
      step(`turn ${turns}`);
      if (await Promise.race([outcomes.then(() => true), turn().then(() => false)])) break;
    }
  }
  for (const outcome of await outcomes) {
    if (outcome.status === "fulfilled") continue;
    expect({ killed, error: outcome.reason as unknown }).toEqual({
      killed: expect.any(String),
      error: expect.objectContaining({ name: "RpcError", code: "unavailable" }),
    });
  }
  if (killed === undefined) void pair.client.close({ closeCode: 7 });
  await Promise.all([pair.client.closed, pair.server.closed]);
  while (inside.count > 0) await turn();
  await pair.close();
  return killed !== undefined;
}

/** Ends after so many items. */
function first(count: number): TransformStream<number, number> {
  return new TransformStream({
    transform: (item, out) => {
      out.enqueue(item);
      if (item + 1 === count) out.terminate();
    },
  });
}

async function* counting(count: number): AsyncGenerator<number> {
  for (let i = 0; i < count; i++) {
    if (i % 100 === 1) await turn();
    yield i;
  }
}

function turn(): Promise<void> {
  return new Promise(setImmediate);
}
