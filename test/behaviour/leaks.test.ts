import { getEventListeners } from "node:events";
import type { CallOptions, Session } from "@quicrpc/core";
import type { TransportSession } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { heap } from "./heap.js";
import { type Kind, kinds, type Pair } from "./kinds.js";
import { methods, Witness } from "./service.js";
import { LiveStreams } from "./stepped.js";
import { collect, failure, timers } from "./tools.js";

const CALLS = 15_000;
const FEW_CALLS = 500;
const ROUNDS = 3;
const AT_ONCE = 250;
/** Bytes: a leak of 16 a call makes more in a round of 5,000. */
const HEAP_SLACK = 64 * 1024;

/** Forgets what it sees. */
class Oblivious extends Witness {
  override saw(): void {}
}

type Call = (client: Session, options: CallOptions) => Promise<unknown>;

const calls: Record<string, Call> = {
  unary: (client, options) => client.unary(methods.echo, { text: "a" }, options),
  "unary, failing": (client, options) => failure(client.unary(methods.fail, { code: "aborted", message: "" }, options)),
  notify: (client, options) => client.notify(methods.note, { text: "a" }, options),
  "server stream": (client, options) => collect(client.serverStream(methods.items, { n: 2 }, options)),
  "server stream, left": async (client, options) => {
    for await (const _ of client.serverStream(methods.items, { n: 2, open: true }, options)) break;
  },
  "client stream": (client, options) => client.clientStream(methods.sum, [1, 2], options),
  duplex: async (client, options) => {
    const { readable, writable } = client.duplex(methods.chat, options);
    const writer = writable.getWriter();
    await Promise.all([writer.write("a"), writer.close(), collect(readable)]);
  },
};

describe.each(kinds)("leaks: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    let pair: Pair;
    let streams: LiveStreams;
    beforeEach(async () => {
      streams = new LiveStreams();
      const wrap = (transport: TransportSession): TransportSession => streams.watch(transport);
      pair = await kind.connect(undefined, { wrap, witness: new Oblivious() });
    });
    afterEach(() => pair.close());

    it.each(Object.entries(calls))(
      "C66 many calls leave streams, timers, listeners and heap at the baseline: %s",
      { timeout: 60_000 },
      async (_, call) => {
        const { signal } = new AbortController();
        const options = { via, signal, timeoutMs: 60_000 };
        await pair.client.unary(methods.echo, { text: "opens the lane" });
        const before = { streams: streams.count, timers: timers() };
        const growth: number[] = [];
        const thorough = isThorough(kind, via);
        for (let round = 0; round <= (thorough ? ROUNDS : 0); round++) {
          const held = thorough ? heap() : 0;
          for (let made = 0; made < (thorough ? CALLS / ROUNDS : FEW_CALLS); made += AT_ONCE) {
            await Promise.all(Array.from({ length: AT_ONCE }, () => call(pair.client, options)));
          }
          await pair.client.unary(methods.echo, { text: "last" });
          while (streams.count > before.streams || timers() > before.timers) await new Promise(setImmediate);
          // The first round warms up.
          if (round > 0) growth.push(heap() - held);
        }
        expect(getEventListeners(signal, "abort")).toHaveLength(0);
        // A leak grows in every round; what else the heap does, it does now and then.
        if (thorough) expect(Math.min(...growth)).toBeLessThan(HEAP_SLACK);
      },
    );
  });
});

/** All calls, and the heap, for each way that a call travels, once; elsewhere enough calls to see what one leaves behind. */
function isThorough({ name }: Kind, via: "lane" | "stream"): boolean {
  return (name === "in-process" && via === "lane") || (name === "QUIC" && via === "stream");
}
