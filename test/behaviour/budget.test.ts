import { createRouter, defineMethod, uncheckedCodec, bytesCodec } from "@quicrpc/core/generated";
import type { Session } from "@quicrpc/core";
import { afterEach, describe, expect, it } from "vitest";
import { kinds, type LocalPair } from "./kinds.js";
import { methods } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Budget", id: 4717 };
const any = uncheckedCodec<unknown>();
const size = uncheckedCodec<number>();
const budgeted = {
  later: defineMethod(service, "unary", "later", { id: 1, input: any, output: any }),
  large: defineMethod(service, "unary", "large", { id: 2, input: size, output: bytesCodec }),
  give: defineMethod(service, "server_stream", "give", { id: 3, input: size, output: any }),
  take: defineMethod(service, "client_stream", "take", { id: 4, input: any, output: any }),
  echo: defineMethod(service, "duplex", "echo", { id: 5, input: any, output: any }),
  note: defineMethod(service, "notify", "note", { id: 6, input: any }),
  hold: defineMethod(service, "client_stream", "hold", { id: 8, input: bytesCodec, output: any }),
  unread: defineMethod(service, "client_stream", "unread", { id: 7, input: bytesCodec, output: any }),
};

type Via = "lane" | "stream";
type Program = (client: Session, via: Via) => Promise<unknown>;

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve());
  });

/** Ways for a call to go, each of which is over in the end. */
const programs: Readonly<Record<string, Program>> = {
  unary: (client, via) => client.unary(budgeted.later, { a: [1, 2, { b: "c" }] }, { via }),
  "unary, large": (client, via) => client.unary(budgeted.large, 300_000, { via }),
  "unary, cancelled": (client, via) => {
    const signal = AbortSignal.timeout(2);
    return failure(client.unary(budgeted.later, "wait", { via, signal }));
  },
  "unary, late": (client, via) => failure(client.unary(budgeted.later, "wait", { via, timeoutMs: 2 })),
  "unary, failing": (client, via) => failure(client.unary(budgeted.later, "fail", { via })),
  "unary, of no value": (client, via) => failure(client.unary(methods.echo, { text: 1 } as never, { via })),
  notify: (client, via) => client.notify(budgeted.note, { a: 1 }, { via }),
  "notify, failing": (client, via) => client.notify(budgeted.note, "fail", { via }),
  items: (client, via) => collect(client.serverStream(budgeted.give, 50, { via })),
  "items, left": async (client, via) => {
    for await (const _ of client.serverStream(budgeted.give, 50, { via })) break;
  },
  "items, never read": async (client, via) => {
    const stream = client.serverStream(budgeted.give, 50, { via });
    await client.unary(budgeted.later, 1);
    return stream;
  },
  upload: (client, via) => client.clientStream(budgeted.take, [1, [2], {}], { via }),
  "upload, not read": (client, via) => client.clientStream(budgeted.unread, [new Uint8Array(100_000)], { via }),
  echo: async (client, via) => {
    const { readable, writable } = client.duplex(budgeted.echo, { via });
    const writer = writable.getWriter();
    await Promise.all([writer.write({ a: 1 }), writer.write("b"), writer.close(), collect(readable)]);
  },
  "echo, aborted": async (client, via) => {
    const { readable, writable } = client.duplex(budgeted.echo, { via });
    const writer = writable.getWriter();
    await writer.write({ a: 1 });
    await writer.abort().catch(() => {});
    await failure(collect(readable));
  },
};

describe.each(kinds)("budget: $name", (kind) => {
  /** Bytes that wait for the acknowledgement of a few more. */
  const UNACKNOWLEDGED = kind.name === "MessagePort" || kind.name.startsWith("fails") ? 256 * 1024 : 0;
  let pair: LocalPair;
  afterEach(() => pair.close());

  async function connect(limits: { readonly maxSessionBytes?: number; readonly maxFrameBytes?: number } = {}) {
    const router = createRouter(budgeted, {
      later: async (input, { signal }) => {
        await Promise.resolve();
        if (input === "fail") throw new Error("as asked");
        if (input === "wait") await until(signal);
        return input;
      },
      large: (bytes) => new Uint8Array(bytes),
      async *give(n) {
        for (let i = 0; i < n; i++) yield { i, pad: "x".repeat(1000) };
      },
      take: async (items) => (await collect(items)).length,
      echo: (items) => items,
      note: async (input) => {
        await Promise.resolve();
        if (input === "fail") throw new Error("as asked");
      },
      unread: () => 1,
      hold: (_, { signal }) => until(signal),
    });
    pair = await kind.connect({}, { server: { routers: [router], limits } });
  }

  /** Returns the bytes held, once they are no more than `most`. */
  async function held(most: number, patienceMs = 10_000): Promise<number> {
    for (const until = Date.now() + patienceMs; Date.now() < until; ) {
      const { heldBytes, handlers } = pair.serverLoad();
      if (heldBytes <= most && handlers === 0) break;
      await new Promise(setImmediate);
    }
    return pair.serverLoad().heldBytes;
  }

  it.each(["lane", "stream"] as const)("C75 by %s, what calls hold is given back to the byte", async (via) => {
    await connect();
    // Opens the lane, which stays.
    await pair.client.unary(budgeted.later, 0, { via: "lane" });
    const most = (await held(0, 100)) + UNACKNOWLEDGED;
    expect(most).toBeLessThanOrEqual(4096 + UNACKNOWLEDGED);
    for (const program of Object.values(programs)) {
      await program(pair.client, via);
      await pair.client.unary(methods.echo, { text: "tick" });
      expect(await held(most)).toBeLessThanOrEqual(most);
    }
    await Promise.all(Object.values(programs).flatMap((run) => [run(pair.client, via), run(pair.client, via)]));
    expect(await held(most)).toBeLessThanOrEqual(most);
    expect(pair.serverLoad().heldBytes).toBeGreaterThanOrEqual(0);
    await pair.close();
    expect(await held(0)).toBe(0);
  });

  it.each(["lane", "stream"] as const)("C75 by %s, nothing is held of a session that was lost", async (via) => {
    await connect();
    const ends = Object.values(programs).map((program) => program(pair.client, via).catch(() => {}));
    const unread = pair.client.serverStream(budgeted.give, 1_000_000, { via });
    const hanging = failure(pair.client.unary(budgeted.later, "wait", { via }));
    await pair.client.unary(methods.echo, { text: "tick" });
    await pair.client.close({ closeCode: 9 });
    await Promise.all([...ends, hanging]);
    await unread.cancel().catch(() => {});
    expect(await held(0)).toBe(0);
  });

  it.each(["lane", "stream"] as const)("C76 by %s, small values count what they take", async (via) => {
    await connect({ maxSessionBytes: 1_000_000 });
    const empty = Array.from({ length: 30_000 }, () => ({}));
    const refused = await failure(pair.client.unary(methods.echo, { text: "", empty } as never, { via }));
    expect(refused).toMatchObject({ code: "resource_exhausted" });
    expect(refused.message).toContain("limits.maxSessionBytes is 1000000");
    const open = await failure(pair.client.clientStream(budgeted.take, [empty], { via }));
    expect(open).toMatchObject({ code: "resource_exhausted" });
    // Typed arrays and dates take more than other values.
    for (const small of [new Uint8Array(1), new Date(1_000_000_000_000)]) {
      const many = Array.from({ length: 9000 }, () => small);
      const error = await failure(pair.client.unary(budgeted.later, many, { via }));
      expect(error).toMatchObject({ code: "resource_exhausted" });
    }
    // As many bytes of one value pass.
    expect(await pair.client.unary(budgeted.later, "x".repeat(60_000), { via })).toHaveLength(60_000);
  });

  it.each(["lane", "stream"] as const)(
    "C76 by %s, items that nobody reads are bounded over all streams",
    async (via) => {
      const maxSessionBytes = 1_000_000;
      await connect({ maxSessionBytes });
      const abort = new AbortController();
      const piece = new Uint8Array(50_000);
      const pieces = Array.from({ length: 4 }, () => piece);
      const made = Array.from({ length: 20 }, () =>
        failure(pair.client.clientStream(budgeted.hold, pieces, { via, signal: abort.signal })),
      );
      const first = await Promise.race(made);
      expect(first).toMatchObject({ code: "resource_exhausted" });
      expect(first.message).toContain(`limits.maxSessionBytes is ${maxSessionBytes}`);
      expect(pair.serverLoad().heldBytes).toBeLessThanOrEqual(maxSessionBytes + 100_000);
      abort.abort();
      await Promise.all(made);
      // Handlers end in turns of their own, after what was on its way has arrived.
      const isServed = (): Promise<boolean> =>
        pair.client.unary(budgeted.later, 1, { via }).then(
          () => true,
          () => false,
        );
      for (const until = Date.now() + 10_000; !(await isServed()); ) expect(Date.now()).toBeLessThan(until);
    },
  );

  it.each(["lane", "stream"] as const)("C76 by %s, so are answers that nobody reads", async (via) => {
    await connect({ maxSessionBytes: 3_000_000, maxFrameBytes: 300_000 });
    const answers = Array.from({ length: 100 }, () =>
      pair.client.unary(budgeted.large, 250_000, { via }).then(
        ({ length }) => length,
        ({ code }: { code: string }) => code,
      ),
    );
    let most = 0;
    const outcomes = new Set<unknown>();
    const watched = { over: false };
    const all = Promise.all(answers.map(async (answer) => outcomes.add(await answer))).finally(() => {
      watched.over = true;
    });
    while (!watched.over) {
      most = Math.max(most, pair.serverLoad().heldBytes);
      await new Promise(setImmediate);
    }
    await all;
    // Read as fast as they come, they pass; a transport that takes less at once has some refused.
    expect(outcomes).toContain(250_000);
    expect(most).toBeLessThanOrEqual(3_000_000 + 2 * 300_000);
  });
});
