import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { RpcError, type Session } from "@quicrpc/core";
import type { ErrorHook } from "@quicrpc/core/internal";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods as usual } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Misfits", id: 82 };

/** The methods, whose answers are of `output`. */
function version(output: z.ZodType<number>) {
  const text = zodCodec(z.string());
  const codecs = { input: text, output: zodCodec(output) };
  return {
    place: defineMethod(service, "unary", "place", { id: 1, ...codecs }),
    watch: defineMethod(service, "server_stream", "watch", { id: 2, ...codecs }),
    upload: defineMethod(service, "client_stream", "upload", { id: 3, ...codecs }),
    chat: defineMethod(service, "duplex", "chat", { id: 4, ...codecs }),
  };
}

const served = version(z.number());
/** As the client has them: it takes no number below 10. */
const strict = version(z.number().min(10));
type Name = keyof typeof strict;

const router = createRouter(served, {
  place: () => 1,
  watch: () => [1],
  async upload(input) {
    await collect(input);
    return 1;
  },
  async *chat(input) {
    for await (const _ of input) yield 1;
  },
});

type Told = Parameters<ErrorHook>[1] & { readonly error: unknown };

/** A pair, and what the server's `onError` received. */
async function connect(
  kind: (typeof distinctKinds)[number],
): Promise<{ pair: Pair; told: Told[]; next: () => Promise<void> }> {
  const told: Told[] = [];
  let wake: (() => void) | undefined;
  const onError: ErrorHook = (error, site) => {
    told.push({ error, ...site });
    wake?.();
  };
  const pair = await kind.connect({}, { server: { routers: [router], onError, peer: "somebody" } });
  const next = (): Promise<void> => (told.length > 0 ? Promise.resolve() : new Promise((resolve) => (wake = resolve)));
  return { pair, told, next };
}

function call(client: Session, name: Name, via: "lane" | "stream"): Promise<unknown> {
  if (name === "place") return client.unary(strict.place, "a", { via });
  if (name === "watch") return collect(client.serverStream(strict.watch, "a", { via }));
  if (name === "upload") return client.clientStream(strict.upload, ["a"], { via });
  const { readable, writable } = client.duplex(strict.chat, { via });
  const writer = writable.getWriter();
  void writer.write("a").catch(() => {});
  return collect(readable);
}

describe.each(distinctKinds)("answers that do not fit their caller's schema: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    it.each(["place", "watch", "upload", "chat"] as const)(
      "C78 of %s: the server's onError is told, once",
      async (name) => {
        const { pair, told, next } = await connect(kind);
        for (let i = 0; i < 3; i++)
          expect(await failure(call(pair.client, name, via))).toMatchObject({ code: "internal" });
        await next();
        // What was sent before has arrived, if it ever does.
        await pair.client.unary(usual.echo, { text: "after" }, { via: "lane" });
        expect(told).toMatchObject([{ method: `test.v1.Misfits/${name}`, peer: expect.any(String) }]);
        expect(told[0]?.error).toBeInstanceOf(RpcError);
        expect(String(told[0]?.error)).toContain("the caller could not decode the response");
        expect(String(told[0]?.error)).toContain(">=10");
        await pair.close();
      },
    );
  });

  it("C78 nothing is said of answers that fit", async () => {
    const { pair, told } = await connect(kind);
    expect(await pair.client.unary(served.place, "a")).toBe(1);
    await pair.client.unary(usual.echo, { text: "after" }, { via: "lane" });
    expect(told).toEqual([]);
    await pair.close();
  });
});
