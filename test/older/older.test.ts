// Code that the first release of a minor version generated runs with the packages of its patches, as docs/upgrading.md
// promises. It is copied to generated/ after that release. Until 0.1.0 is released, generated/ has the code of today.
import { createSession, isRpcErrorOf, RpcError, rpcError } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { describe, expect, it, onTestFinished } from "vitest";
import * as current from "../../packages/http/test/generated/http.js";
import * as older from "./generated/http.js";

type Generated = typeof current;

const PAIRS: [name: string, client: Generated, server: Generated][] = [
  ["a client of older code and a server of today's", older, current],
  ["a client of today's code and a server of older", current, older],
  ["a client and a server of older code", older, older],
];

/** Returns a client, and the texts that the server has been notified of. */
function connect(client: Generated, server: Generated): { http: current.HttpClient; notes: string[] } {
  const notes: string[] = [];
  const router = server.createHttpRouter({
    echo: (input) => input,
    change: (input) => input,
    nothing() {},
    kinds: (input) => input,
    fail() {
      throw rpcError(server.httpMethods.fail, "EMPTY", { left: 3, at: new Date(0) });
    },
    crash() {
      throw new RpcError("internal", "crashed");
    },
    wait() {},
    *items({ n }) {
      for (let i = 0; i < n; i++) yield { i };
    },
    async sum(numbers) {
      let sum = 0;
      for await (const number of numbers) sum += number;
      return sum;
    },
    async *chat(texts) {
      for await (const text of texts) yield text.toUpperCase();
    },
    note: ({ text }) => void notes.push(text),
    metadata: (_, { metadata }) => ({ given: String(metadata.get("x-given")) }),
    *follow({ upTo }, { resumeFrom = "0" }) {
      for (let i = Number(resumeFrom) + 1; i <= upTo; i++) yield { i };
    },
    *endless() {},
    charge({ amount, at }) {
      if (amount === 0n) throw rpcError(server.httpMethods.charge, "BROKE", { since: at });
      return { amount: amount * 2n, at, effects: 1 };
    },
    async upload(pieces) {
      let size = 0;
      for await (const piece of pieces) size += piece.length;
      return size;
    },
  });
  const [near, far] = createMemoryPair();
  const session = createSession(near);
  const served = createSession(far, { routers: [router] });
  onTestFinished(async () => {
    await session.close();
    await served.close();
  });
  return { http: client.createHttpClient(session), notes };
}

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

describe.each(PAIRS)("%s", (_, client, server) => {
  it("exchange messages of every kind of method", async () => {
    const { http, notes } = connect(client, server);
    expect(await http.echo({ text: "a" })).toEqual({ text: "a" });
    const kinds = { at: new Date(5), data: Uint8Array.of(1, 2), big: 2n ** 60n };
    expect(await http.kinds(kinds)).toEqual(kinds);
    expect(await http.nothing()).toBeUndefined();
    expect(await all(http.items({ n: 2 }))).toEqual([{ i: 0 }, { i: 1 }]);
    expect(await http.sum([1, 2, 3])).toBe(6);
    expect(await http.upload([new Uint8Array(3), new Uint8Array(4)])).toBe(7);
    const { readable, writable } = http.chat();
    const writer = writable.getWriter();
    await writer.write("a");
    await writer.close();
    expect(await all(readable)).toEqual(["A"]);
    await http.note({ text: "b" });
    expect(await http.metadata({ metadata: { "x-given": "c" } })).toEqual({ given: "c" });
    expect(notes).toEqual(["b"]);
  });

  it("exchange cursors, keys of calls that take effect once, and declared errors", async () => {
    const { http } = connect(client, server);
    expect(await all(http.follow({ upTo: 3 }, { from: "1" }))).toEqual([{ i: 2 }, { i: 3 }]);
    expect(await http.charge({ amount: 2n, at: new Date(0) })).toEqual({ amount: 4n, at: new Date(0), effects: 1 });
    const broke: unknown = await http.charge({ amount: 0n, at: new Date(9) }).catch((error: unknown) => error);
    expect(isRpcErrorOf(client.httpMethods.charge, broke)).toBe(true);
    expect(broke).toMatchObject({ reason: "BROKE", details: { since: new Date(9) } });
    const empty: unknown = await http.fail().catch((error: unknown) => error);
    expect(isRpcErrorOf(client.httpMethods.fail, empty)).toBe(true);
    expect(empty).toMatchObject({ reason: "EMPTY", details: { left: 3, at: new Date(0) } });
  });

  it("refuse what does not fit the schema", async () => {
    const { http } = connect(client, server);
    const misfit: unknown = await http.echo({ text: 1 } as never).catch((error: unknown) => error);
    expect(misfit).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("text") });
  });
});

describe("older code", () => {
  it("describes its services", async () => {
    const { tooling } = older.httpMethods.echo.service;
    expect(Object.keys((await tooling?.())?.methods ?? {})).toContain("echo");
  });
});
