import { type Connection, isRpcErrorOf, rpcError } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { connectPairs } from "./connected-pairs.js";
import { distinctKinds, type Pair } from "./kinds.js";

const service = { name: "test.v1.Cursors", id: 4711 };
const follow = defineMethod(service, "server_stream", "follow", {
  id: 1,
  input: zodCodec(z.object({ upTo: z.int() })),
  output: zodCodec(z.object({ id: z.int(), before: z.int().nullable() })),
  cursor: { field: "id", predecessor: "before" },
  errors: { CURSOR_EXPIRED: { code: "out_of_range" }, CURSOR_GAP: { code: "data_loss" } },
});

const UP_TO = 12;

describe.each(distinctKinds)("cursors: $name", (kind) => {
  let connection: Connection;
  let pairs: Pair[];
  let close: () => Promise<void>;
  /** Handlers that have not been left. */
  let open: number;
  beforeEach(() => {
    open = 0;
    const router = createRouter({ follow }, { follow: (input, { resumeFrom }) => items(input.upTo, resumeFrom) });
    ({ connection, pairs, close } = connectPairs(kind, { routers: [router] }));
  });
  afterEach(() => close());

  async function* items(upTo: number, from: string | undefined): AsyncGenerator<{ id: number; before: number | null }> {
    if (from === "trimmed to 6") yield { id: 7, before: 6 };
    if (from === "trimmed") throw rpcError(follow, "CURSOR_EXPIRED");
    open++;
    try {
      for (let id = Number(from ?? 0) + 1; id <= upTo; id++) yield { id, before: id === 1 ? null : id - 1 };
      // Live streams have no end.
      if (upTo < 0) await new Promise(() => {});
    } finally {
      open--;
    }
  }

  const ends = {
    killed: (pair: Pair) => void pair.server.close({ closeCode: 1 }),
    "lost here": (pair: Pair) => void pair.client.close({ closeCode: 1 }),
    drained: (pair: Pair) => void pair.server.drain(),
  };

  it.each(Object.entries(ends))("C80 all items come once, in order, with the session %s after each", async (_, end) => {
    const stream = connection.serverStream(follow, { upTo: UP_TO });
    const taken: number[] = [];
    for await (const { id } of stream) {
      taken.push(id);
      expect(stream.cursor).toBe(String(id));
      if (id < UP_TO) end(pairs.at(-1) as Pair);
    }
    expect(taken).toEqual(Array.from({ length: UP_TO }, (_, index) => index + 1));
    expect(connection.state).not.toHaveProperty("resuming");
    expect(open).toBe(0);
  });

  it("C81 the caller knows that it has to begin anew", async () => {
    const expired = connection.serverStream(follow, { upTo: 1 }, { from: "trimmed" });
    const error: unknown = await expired
      .values()
      .next()
      .catch((thrown: unknown) => thrown);
    expect(isRpcErrorOf(follow, error) && error.reason).toBe("CURSOR_EXPIRED");
    const gap = connection.serverStream(follow, { upTo: 5 }, { from: "trimmed to 6" });
    const missing: unknown = await gap
      .values()
      .next()
      .catch((thrown: unknown) => thrown);
    expect(isRpcErrorOf(follow, missing) && missing.reason).toBe("CURSOR_GAP");
    expect(open).toBe(0);
  });
});
