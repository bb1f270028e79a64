import { authorize, interceptRouter, type Metadata, RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { blobCalls } from "@quicrpc/blobs/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Guarded", id: 4712 };

/** Methods of each kind that take messages of `input`. */
function methodsOf<Input extends z.ZodType>(input: Input) {
  const both = { input: zodCodec(input), output: zodCodec(z.string()) };
  return {
    unary: defineMethod(service, "unary", "unary", { id: 1, ...both }),
    download: defineMethod(service, "server_stream", "download", { id: 2, ...both }),
    upload: defineMethod(service, "client_stream", "upload", { id: 3, ...both }),
    talk: defineMethod(service, "duplex", "talk", { id: 4, ...both }),
    notify: defineMethod(service, "notify", "notify", { id: 5, input: both.input }),
  };
}

const served = methodsOf(z.string());
/** The caller's schema permits more than the server's. */
const called = methodsOf(z.unknown());
const UNREADABLE = 5;

describe.each(distinctKinds)("permission: $name", (kind) => {
  describe.each(kind.carriers ?? (["lane", "stream"] as const))("by %s", (via) => {
    let pair: Pair;
    let entered: string[];
    beforeEach(async () => {
      entered = [];
      const enter = (name: string): string => (entered.push(name), name);
      const router = createRouter(served, {
        unary: () => enter("unary"),
        download: () => [enter("download")],
        upload: async (items) => `${enter("upload")} ${(await collect(items)).length}`,
        async *talk(items) {
          enter("talk");
          for await (const item of items) yield item;
        },
        notify: () => void enter("notify"),
      });
      const scopesOf = async ({ metadata }: { metadata: Metadata }): Promise<string[] | undefined> => {
        const scopes = metadata.get("scopes");
        if (scopes === "lost") throw new Error("the database is gone");
        return Promise.resolve(scopes?.split(" "));
      };
      const guard = authorize({ scopesOf, permissionOf: () => ["write"] });
      pair = await kind.connect({}, { server: { routers: [interceptRouter(router, [guard])] } });
    });
    afterEach(() => pair.close());

    const calls = (client: Session, input: unknown, scopes: string | undefined) => {
      const options = { via, ...(scopes !== undefined && { metadata: { scopes } }) };
      return {
        unary: () => client.unary(called.unary, input, options),
        download: () => collect(client.serverStream(called.download, input, options)),
        upload: () => client.clientStream(called.upload, [input], options),
        talk: () => {
          const { readable, writable } = client.duplex(called.talk, options);
          const writer = writable.getWriter();
          void writer.write(input).catch(() => {});
          void writer.close().catch(() => {});
          return collect(readable);
        },
      };
    };

    it.each(["unary", "download", "upload", "talk"] as const)(
      "a caller without permission for %s does not learn that its input cannot be read",
      async (name) => {
        const call = (input: unknown, scopes?: string): Promise<unknown> => calls(pair.client, input, scopes)[name]();
        const cases = [
          [undefined, "unauthenticated"],
          ["read", "permission_denied"],
          ["lost", "internal"],
        ] as const;
        for (const [scopes, code] of cases) {
          const readable = await failure(call("text", scopes));
          const unreadable = await failure(call(UNREADABLE, scopes));
          expect(readable).toMatchObject({ code, details: undefined });
          expect(unreadable).toMatchObject({ code, message: readable.message, details: undefined });
        }
        expect(entered).toEqual([]);
        expect(await failure(call(UNREADABLE, "write"))).toMatchObject({ code: "invalid_argument" });
        expect(await call("text", "write")).toBeDefined();
      },
    );

    it.runIf(kind.inHeaders)("the same for a notification whose sender is answered", async () => {
      const sent = pair.client.notify(called.notify, UNREADABLE, { via, metadata: { scopes: "read" } });
      expect(await failure(sent)).toMatchObject({ code: "permission_denied" });
    });
  });
});

describe.each(distinctKinds)("permission for blobs: $name", (kind) => {
  it("a caller without permission does not learn that its blob is too large", async () => {
    const file = (maxBytes: number) =>
      defineMethod(service, "unary", "file", {
        id: 6,
        input: uncheckedCodec<{ file: Blob }>(),
        output: uncheckedCodec<string>(),
        blobs: blobCalls({ input: [{ name: "file", maxBytes }] }),
      });
    const router = createRouter({ file: file(10) }, { file: () => "entered" });
    const scopesOf = ({ metadata }: { metadata: Metadata }): string[] | undefined => metadata.get("scopes")?.split(" ");
    const guard = authorize({ scopesOf, permissionOf: () => ["write"] });
    const pair = await kind.connect({}, { server: { routers: [interceptRouter(router, [guard])] } });
    const call = (scopes: string): Promise<unknown> =>
      pair.client.unary(file(1000), { file: new Blob(["more than 10 bytes"]) }, { metadata: { scopes } });
    expect(await failure(call("read"))).toMatchObject({ code: "permission_denied" });
    expect(await failure(call("write"))).toMatchObject({ code: "resource_exhausted" });
    await pair.close();
  });
});

it("an interceptor that answers by itself has not permitted an input that cannot be read", async () => {
  const kind = distinctKinds[0] as (typeof distinctKinds)[number];
  const router = createRouter({ unary: served.unary }, { unary: (text) => text });
  const { responseMetadata, trailers } = { responseMetadata: undefined, trailers: undefined } as never;
  const answering = interceptRouter(router, [
    () => Promise.resolve({ output: "answer", outputs: undefined, responseMetadata, trailers }),
  ]);
  const pair = await kind.connect({}, { server: { routers: [answering] } });
  const error = await failure(pair.client.unary(called.unary, UNREADABLE));
  expect(error).toBeInstanceOf(RpcError);
  expect(error.code).toBe("permission_denied");
  await pair.close();
});
