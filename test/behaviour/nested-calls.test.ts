import { createSession, type ItemStream, RpcError, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { distinctKinds, type Pair } from "./kinds.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Nested", id: 4716 };
const text = uncheckedCodec<string>();
/** Methods that the handlers call in turn: each fails with the code it is asked for. */
const inner = {
  unary: defineMethod(service, "unary", "innerUnary", { id: 1, input: text, output: text }),
  stream: defineMethod(service, "server_stream", "innerStream", { id: 2, input: text, output: text }),
};
const outer = {
  unary: defineMethod(service, "unary", "unary", { id: 11, input: text, output: text }),
  server: defineMethod(service, "server_stream", "server", { id: 12, input: text, output: text }),
  /** Gives the stream of its own call as it is. */
  passed: defineMethod(service, "server_stream", "passed", { id: 13, input: text, output: text }),
  client: defineMethod(service, "client_stream", "client", { id: 14, input: text, output: text }),
  duplex: defineMethod(service, "duplex", "duplex", { id: 15, input: text, output: text }),
  notify: defineMethod(service, "notify", "notify", { id: 16, input: text }),
  forward: defineMethod(service, "unary", "forward", { id: 17, input: text, output: text }),
  hang: defineMethod(service, "unary", "hang", { id: 18, input: text, output: text }),
  own: defineMethod(service, "unary", "own", { id: 19, input: text, output: text }),
};

type Make = (client: Session, code: string, via: "lane" | "stream") => Promise<unknown>;
const first = (stream: ItemStream<string>): Promise<unknown> => collect(stream);

const makes: Readonly<Record<string, Make>> = {
  unary: (client, code, via) => client.unary(outer.unary, code, { via }),
  "server stream": (client, code, via) => first(client.serverStream(outer.server, code, { via })),
  "stream passed on": (client, code, via) => first(client.serverStream(outer.passed, code, { via })),
  "client stream": (client, code, via) => client.clientStream(outer.client, [code], { via }),
  duplex: (client, code, via) => {
    const { readable, writable } = client.duplex(outer.duplex, { via });
    const writer = writable.getWriter();
    writer.write(code).catch(() => {});
    return first(readable);
  },
};

describe.each(distinctKinds)("nested calls: $name", (kind) => {
  let pair: Pair;
  let upstream: Session;
  beforeEach(async () => {
    const [near, far] = createMemoryPair();
    const fail = (code: string): never => {
      const options = { details: { secret: 1 }, metadata: { secret: "m" } };
      throw new RpcError(code as RpcError["code"], "the inner secret", options);
    };
    createSession(far, {
      routers: [
        createRouter(inner, {
          unary: (code) => (code === "never" ? new Promise(() => {}) : fail(code)),
          async *stream(code) {
            yield "first";
            fail(code);
          },
        }),
      ],
    });
    upstream = createSession(near);
    const router = createRouter(outer, {
      unary: (code) => upstream.unary(inner.unary, code),
      async *server(code) {
        yield "before";
        yield await upstream.unary(inner.unary, code);
      },
      passed: (code) => upstream.serverStream(inner.stream, code),
      client: async (input) => {
        for await (const code of input) await upstream.unary(inner.unary, code);
        return "";
      },
      async *duplex(input) {
        for await (const code of input) yield await upstream.unary(inner.unary, code);
      },
      notify: async (code) => void (await upstream.unary(inner.unary, code)),
      forward: async (code) => {
        try {
          return await upstream.unary(inner.unary, code);
        } catch (error) {
          throw RpcError.forward(error as RpcError);
        }
      },
      hang: (_, context) => upstream.unary(inner.unary, "never", { parent: context }),
      own: async (code) => {
        await upstream.unary(inner.unary, code).catch(() => {});
        throw new RpcError("not_found", "my own");
      },
    });
    pair = await kind.connect({}, { server: { routers: [router] } });
  });
  afterEach(async () => {
    await pair.close();
    await upstream.close();
  });

  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    it.each(Object.entries(makes))("C73 what a handler's own call failed with stays here: %s", async (_, make) => {
      const told = await failure(make(pair.client, "unauthenticated", via));
      expect(told).toMatchObject({ code: "internal", details: undefined, refused: false });
      expect(told.message).not.toContain("secret");
      expect(told.metadata.size).toBe(0);
      const { error } = pair.witness.errors[0] as { error: unknown };
      expect(error).toMatchObject({ code: "unauthenticated", message: "the inner secret", fromCall: true });
    });

    it("C73 what is not there for the handler is unavailable, and the call was not refused", async () => {
      await upstream.close();
      for (const make of Object.values(makes)) {
        expect(await failure(make(pair.client, "aborted", via))).toMatchObject({ code: "unavailable", refused: false });
      }
      const errors = pair.witness.errors as { error: RpcError }[];
      expect(errors.every(({ error }) => error.code === "unavailable" && error.fromCall)).toBe(true);
    });

    it("C73 a handler forwards what it wants to, and throws what it wants to", async () => {
      const told = await failure(pair.client.unary(outer.forward, "permission_denied", { via }));
      expect(told).toMatchObject({ code: "permission_denied", message: "the inner secret", details: { secret: 1 } });
      expect(told.metadata.get("secret")).toBe("m");
      await upstream.close();
      const gone = await failure(pair.client.unary(outer.forward, "aborted", { via }));
      expect(gone).toMatchObject({ code: "unavailable", refused: false });
      expect(await failure(pair.client.unary(outer.own, "aborted", { via }))).toMatchObject({ code: "not_found" });
      expect(pair.witness.errors).toEqual([]);
    });

    it("C73 the caller's own deadline stays what it is", async () => {
      const { code } = await failure(pair.client.unary(outer.hang, "", { via, timeoutMs: 30 }));
      expect(code).toBe("deadline_exceeded");
    });
  });

  it("C73 a notification's failure goes to the error hook as it is", async () => {
    await pair.client.notify(outer.notify, "aborted");
    await pair.witness.until("error test.v1.Nested/notify");
    expect(pair.witness.errors[0]?.error).toMatchObject({ code: "aborted", fromCall: true });
  });
});
