import { type CallOptions, type Metadata, RpcError, type Session } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { describeDistinctCalls } from "./describe-calls.js";
import { distinctKinds } from "./kinds.js";
import { type Order, said } from "./said-service.js";
import { failure } from "./tools.js";

/** One call, and all that came of it. */
interface Outcome {
  readonly items: number[];
  readonly error: RpcError | undefined;
  readonly header: [string, unknown][] | undefined;
  readonly trailer: [string, unknown][] | undefined;
}

type Call = (session: Session, order: Order, options: CallOptions) => Promise<number[]>;

const calls: { readonly [Kind in "unary" | "serverStream" | "clientStream" | "duplex"]: Call } = {
  unary: async (session, order, options) => [await session.unary(said.unary, order, options)],
  serverStream: async (session, order, options) => {
    const stream = session.serverStream(said.serverStream, order, options);
    const items: number[] = [];
    for await (const item of stream) items.push(item);
    // What the callbacks heard, the stream has as well.
    expect(stream.responseMetadata.size).toBeGreaterThan(0);
    expect(stream.trailers.size).toBeGreaterThan(0);
    return items;
  },
  clientStream: async (session, order, options) => [await session.clientStream(said.clientStream, [order], options)],
  duplex: async (session, order, options) => {
    const { readable, writable } = session.duplex(said.duplex, options);
    const writer = writable.getWriter();
    writer.write(order).then(
      () => writer.close(),
      () => {},
    );
    const items: number[] = [];
    for await (const item of readable) items.push(item);
    return items;
  },
};
const everyKind = Object.entries(calls).map(([name, call]) => ({ name, call }));

async function outcome(session: Session, call: Call, order: Order, options: CallOptions): Promise<Outcome> {
  const heard: { header?: [string, unknown][]; trailer?: [string, unknown][]; times: string[] } = { times: [] };
  const listening = {
    ...options,
    onResponseMetadata: (metadata: Metadata) => {
      heard.times.push("header");
      heard.header = [...metadata];
    },
    onTrailers: (trailers: Metadata) => {
      heard.times.push("trailer");
      heard.trailer = [...trailers];
    },
  };
  let items: number[] = [];
  let error: RpcError | undefined;
  try {
    items = await call(session, order, listening);
  } catch (thrown) {
    error = RpcError.from(thrown);
  }
  expect(heard.times).toEqual(["header", "trailer"]);
  return { items, error, header: heard.header, trailer: heard.trailer };
}

type Entries = [string, string | Uint8Array][];

const anyMetadata: Entries = [
  ["key", "first"],
  ["other", "größe ✓ 🎈"],
  ["key", ""],
  ["key-bin", new Uint8Array([0, 255, 128])],
  ["key", "\t spaces \n"],
  ["__proto__", "harmless"],
];
/** Metadata that header fields carry. */
const headerMetadata: Entries = [
  ["key", "first"],
  ["other", "plain, and more"],
  ["key", "second"],
  ["key-bin", new Uint8Array([0, 255, 128])],
];

const trailingOf = (metadata: Entries): Entries => metadata.map(([key, value]) => [`trailing-${key}`, value]);

/** Header fields without those of HTTP itself, in the order of their names; those of one name are one, in their order. */
function asFields(entries: readonly [string, unknown][], names: Entries): [string, unknown][] {
  const fields = new Map<string, unknown>();
  for (const [name, value] of entries) {
    const before = fields.get(name);
    if (names.some(([known]) => known === name))
      fields.set(name, before === undefined ? value : [before, value].join(", "));
  }
  return [...fields].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

describeDistinctCalls("metadata", (on) => {
  const { options, alive } = on;
  const metadata = on.inHeaders ? headerMetadata : anyMetadata;
  const trailing = trailingOf(metadata);
  const told: Entries = [...trailing, ["from-error", "1"], ["from-error", "2"]];

  function expectMetadata(received: Iterable<[string, unknown]> | undefined, sent: Entries): void {
    const entries = [...(received ?? [])];
    if (on.inHeaders) expect(asFields(entries, sent)).toEqual(asFields(sent, sent));
    else expect(entries).toEqual(sent);
  }

  describe.each(everyKind)("$name", ({ name, call }) => {
    it.each([0, 3])("C1 C37 C38 C39 both ways, in order, %i items", async (n) => {
      const { items, error, header, trailer } = await outcome(on.client, call, { n }, options({ metadata }));
      expect(error).toBeUndefined();
      expect(items).toEqual(name === "unary" || name === "clientStream" ? [n] : range(n));
      expectMetadata(header, metadata);
      expectMetadata(trailer, trailing);
    });

    it.each([0, 3])("C37 C38 C47 with an error after %i items", async (n) => {
      const { error, header, trailer } = await outcome(
        on.client,
        call,
        { n, failWith: "aborted" },
        options({ metadata }),
      );
      expect(error).toMatchObject({ code: "aborted", message: "as told", refused: false });
      expectMetadata(header, metadata);
      expectMetadata(trailer, told);
      expect([...(error as RpcError).metadata]).toEqual(trailer);
    });

    it("C41 more than maxMetadataBytes: refused here, nothing is sent, the session lives", async () => {
      const more = { big: "x".repeat(17_000) };
      const error = await failure(call(on.client, { n: 1 }, options({ metadata: more })));
      expect(error).toMatchObject({ code: "resource_exhausted" });
      expect(error.message).toMatch(/limits\.maxMetadataBytes is 16384/);
      await alive();
    });
  });

  it("C37 a notification has metadata too", async () => {
    await on.client.notify(said.note, { n: 1 }, options({ metadata }));
    await on.witness.until(on.inHeaders ? "note first, second" : "note first,,\t spaces \n");
  });

  it("C1 response metadata may come long before the answer", async () => {
    const abort = new AbortController();
    let onResponseMetadata: (metadata: Metadata) => void = () => {};
    const header = new Promise<Metadata>((resolve) => {
      onResponseMetadata = resolve;
    });
    const unary = on.client.unary(
      said.unary,
      { n: 1, early: true },
      options({ metadata: { a: "1" }, signal: abort.signal, onResponseMetadata }),
    );
    expect([...(await header)]).toEqual([["a", "1"]]);
    abort.abort();
    expect(await failure(unary)).toMatchObject({ code: "cancelled" });
    await alive();
  });

  it("C40 reserved keys and what cannot be a key are refused before anything is sent", async () => {
    const refused: ConstructorParameters<typeof Metadata>[0][] = [
      { "quicrpc-timeout": "1" },
      { "QUICRPC-x": "1" },
      { "": "1" },
      { ":path": "/" },
      { "a b": "1" },
      { größe: "1" },
      { "k-bin": "text" },
      { k: new Uint8Array(1) },
    ];
    for (const metadata of refused) {
      const error = await failure(on.client.unary(said.unary, { n: 1 }, options({ metadata })));
      expect(error).toMatchObject({ code: "invalid_argument" });
    }
    await alive();
  });

  it("C40 metadata that looks like the protocol's own has no effect", async () => {
    const metadata = { timeout: "1", "grpc-timeout": "1n", reason: "X", refused: "" };
    expect(await on.client.unary(said.unary, { n: 7 }, options({ metadata }))).toBe(7);
  });
});

describe.each(distinctKinds)("metadata, limits: $name", (kind) => {
  it("C41 C51 what a peer allows less of: exactly its limit passes, one byte more fails the call alone", async () => {
    const pair = await kind.connect({ maxMetadataBytes: 100 });
    try {
      // key length 1, key 1, value length 2, value 96
      const metadata = { k: "x".repeat(96) };
      // The handler's trailers have the longer key, and do not fit any more.
      const error = await failure(pair.client.unary(said.unary, { n: 1 }, { metadata }));
      expect(error).toMatchObject({ code: "resource_exhausted" });
      expect(error.message).toMatch(/limits\.maxMetadataBytes is 100/);
      expect(await failure(pair.client.unary(said.unary, { n: 1 }, { metadata: { k: "x".repeat(97) } }))).toMatchObject(
        {
          code: "resource_exhausted",
        },
      );
      expect(await pair.client.unary(said.unary, { n: 2 }, { metadata: { k: "x" } })).toBe(2);
    } finally {
      await pair.close();
    }
  });
});

function range(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}
