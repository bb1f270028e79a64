import { beforeEach, describe, expect, it } from "vitest";
import { uncheckedCodec } from "../call/messages/codec.js";
import { defineMethod } from "../client/define-method.js";
import type { RpcError } from "../errors.js";
import { createRouter } from "../server/router.js";
import { byteStreamTransport } from "../transport/byte-stream.js";
import { createMemoryPair } from "../transport/memory.js";
import { createClientSession } from "./create-client-session.js";
import { createSession } from "./create-session.js";
import type { Session } from "./session.js";

const service = { name: "test.v1.Client", id: 79 };
const text = uncheckedCodec<string>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  note: defineMethod(service, "notify", "note", { id: 2, input: text }),
  point: defineMethod(service, "notify", "point", { id: 3, input: text, delivery: "datagram" }),
  repeat: defineMethod(service, "server_stream", "repeat", { id: 4, input: text, output: text }),
  join: defineMethod(service, "client_stream", "join", { id: 5, input: text, output: text }),
  chat: defineMethod(service, "duplex", "chat", { id: 6, input: text, output: text }),
};

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const failure = (call: Promise<unknown>): Promise<RpcError> =>
  call.then(
    () => Promise.reject(new Error("the call succeeded")),
    (error: RpcError) => error,
  );

describe("a client session", () => {
  let client: Session;
  let server: Session;
  let seen: string[];
  beforeEach(() => {
    seen = [];
    const [ours, theirs] = createMemoryPair();
    const router = createRouter(methods, {
      echo: (input) => input,
      note: (input) => void seen.push(`note ${input}`),
      point: (input) => void seen.push(`point ${input}`),
      repeat: (input) => [input, input],
      join: async (items) => (await collect(items)).join(""),
      chat: (items) => items,
    });
    server = createSession(theirs, { routers: [router] });
    client = createClientSession(ours);
  });

  it.each(["lane", "stream"] as const)("makes every kind of call, by %s", async (via) => {
    expect(await client.unary(methods.echo, "a", { via })).toBe("a");
    expect(await collect(client.serverStream(methods.repeat, "b", { via }))).toEqual(["b", "b"]);
    expect(await client.clientStream(methods.join, ["c", "d"], { via })).toBe("cd");
    const { readable, writable } = client.duplex(methods.chat, { via });
    const writer = writable.getWriter();
    const answered = collect(readable);
    await writer.write("e");
    await writer.close();
    expect(await answered).toEqual(["e"]);
    await client.notify(methods.note, "f", { via });
    await client.notify(methods.point, "g");
    await client.unary(methods.echo, "", { via });
    expect(seen.toSorted()).toEqual(["note f", "point g"]);
  });

  it.each(["lane", "stream"] as const)("refuses the peer's calls by %s, and lives", async (via) => {
    const calls = [
      server.unary(methods.echo, "a", { via }),
      collect(server.serverStream(methods.repeat, "a", { via })),
      server.clientStream(methods.join, ["a", "b"], { via }),
      collect(server.duplex(methods.chat, { via }).readable),
    ];
    for (const call of calls) expect(await failure(call)).toMatchObject({ code: "unimplemented", refused: true });
    await server.notify(methods.note, "a", { via });
    await server.notify(methods.point, "a");
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
    expect(await client.unary(methods.echo, "still")).toBe("still");
  });

  it("is drained by either side", async () => {
    await client.unary(methods.echo, "a");
    expect(await server.drain()).toMatchObject({ closeCode: 0, error: undefined });
    expect(await failure(client.unary(methods.echo, "a"))).toMatchObject({ code: "unavailable", refused: true });
  });

  it("is not made of a byte stream", () => {
    const idle = {
      pendingBytes: () => 0,
      attach() {},
      write: () => true,
      end() {},
      destroy() {},
      pause() {},
      resume() {},
    };
    expect(() => createClientSession(byteStreamTransport(idle, "client"))).toThrow(TypeError);
  });
});
