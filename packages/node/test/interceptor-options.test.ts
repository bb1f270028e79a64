// `interceptors` of serve, dial and connect, over a transport that needs no engine.
import { type TypedCaller, type Interceptor, retry, RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { connect, dial, serve, type Server } from "@quicrpc/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import { methods } from "../../../test/behaviour/service.js";
import { collect } from "../../../test/behaviour/tools.js";

const { echo, items } = methods;

let notes: string[];
let failures: number;
let server: Server;
const noting =
  (name: string): Interceptor =>
  (call, next) => {
    notes.push(`${name} ${call.side} ${call.method.name}`);
    return next(call);
  };

beforeEach(async () => {
  notes = [];
  failures = 0;
  const router = createRouter(
    { echo, items },
    {
      echo: (input) => {
        if (failures-- > 0) throw new RpcError("unavailable", "not yet");
        return input;
      },
      items: ({ n }) => Array.from({ length: n }, (_, i) => ({ i })),
    },
  );
  const interceptors = [noting("c"), noting("d")];
  server = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [router], interceptors });
});
afterEach(() => server.close());

type Join = (url: string, options: { interceptors: Interceptor[] }) => Promise<TypedCaller & AsyncDisposable>;
const joins: [name: string, join: Join][] = [
  ["dial", (url, options) => dial(url, options)],
  ["connect", (url, options) => connect(url, options)],
];

it.each(joins)(
  "stand around what %s makes calls through, and what serve serves; the first is the outermost",
  async (_, join) => {
    await using caller = await join(server.urls[0] as string, { interceptors: [noting("a"), noting("b")] });
    expect(await caller.unary(echo, { text: "hi" })).toEqual({ text: "hi" });
    expect(notes).toEqual(["a caller echo", "b caller echo", "c callee echo", "d callee echo"]);
    expect(await collect(caller.serverStream(items, { n: 2 }))).toEqual([{ i: 0 }, { i: 1 }]);
    expect(notes).toHaveLength(8);
  },
);

it("leave a session and a connection all that they have beside calls", async () => {
  const interceptors = [noting("a")];
  const session = await dial(server.urls[0] as string, { interceptors });
  expect(await session.ping()).toBeGreaterThanOrEqual(0);
  expect(session.rttMs).toBeGreaterThanOrEqual(0);
  expect(await session.close()).toMatchObject({ closeCode: 0 });
  expect(await session.closed).toMatchObject({ closeCode: 0 });
  const connection = await connect(server.urls[0] as string, { interceptors });
  expect(connection.state.status).toBe("ready");
  expect(await connection.drain()).toMatchObject({ closeCode: 0 });
});

it("stand around a connection, not each attempt: a retry is one call of those outside it", async () => {
  failures = 1;
  const idempotent = { ...echo, idempotent: true };
  const interceptors = [noting("a"), retry({ initialDelayMs: 0 }), noting("b")];
  await using connection = await connect(server.urls[0] as string, { interceptors });
  expect(await connection.unary(idempotent, { text: "hi" })).toEqual({ text: "hi" });
  expect(notes.filter((note) => note.startsWith("a"))).toHaveLength(1);
  expect(notes.filter((note) => note.startsWith("b"))).toHaveLength(2);
});
