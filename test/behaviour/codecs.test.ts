import { Buffer } from "node:buffer";
import {
  createRouter,
  defineMethod,
  type MessageCodec,
  uncheckedCodec,
  bytesCodec,
  zodCodec,
} from "@quicrpc/core/generated";
import { json, msgpack, raw, type SessionCodec } from "@quicrpc/core";
import { msgpackRecords } from "@quicrpc/core/records";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { methods as plain } from "./service.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Codecs", id: 78 };
const Values = z.object({ at: z.date(), big: z.bigint(), bytes: z.instanceof(Uint8Array), tags: z.array(z.string()) });
/** Values of which standard MessagePack loses a part. */
const Lossy = z.object({
  any: z.any(),
  unknown: z.array(z.object({ inside: z.unknown() })),
  map: z.map(z.int(), z.set(z.string())),
  keyed: z.map(z.object({ a: z.int() }), z.string().optional()),
  either: z.union([z.string(), z.map(z.string(), z.set(z.int()))]),
});
/** As generated codecs are: made for MessagePack alone. */
const validated = zodCodec(Values);
const compiled: MessageCodec<z.infer<typeof Values>> = {
  encode: (value, out) => validated.encode(value, out),
  decode: (bytes, start, end) => validated.decode(bytes, start, end),
};
const anything = uncheckedCodec<unknown>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: zodCodec(Values), output: zodCodec(Values) }),
  compiled: defineMethod(service, "unary", "compiled", { id: 2, input: compiled, output: compiled }),
  any: defineMethod(service, "duplex", "any", { id: 3, input: anything, output: anything }),
  bytes: defineMethod(service, "duplex", "bytes", { id: 4, input: bytesCodec, output: bytesCodec }),
  back: defineMethod(service, "unary", "back", { id: 5, input: zodCodec(Values), output: zodCodec(Values) }),
  lossy: defineMethod(service, "unary", "lossy", { id: 7, input: zodCodec(Lossy), output: zodCodec(Lossy) }),
  wrong: defineMethod(service, "unary", "wrong", { id: 8, output: zodCodec(z.string()) }),
  wrongItems: defineMethod(service, "server_stream", "wrongItems", { id: 9, output: zodCodec(z.string()) }),
  wrongResult: defineMethod(service, "client_stream", "wrongResult", {
    id: 10,
    input: zodCodec(z.string()),
    output: zodCodec(z.string()),
  }),
  given: defineMethod(service, "unary", "given", { id: 6, output: zodCodec(z.string()) }),
};
const router = createRouter(methods, {
  lossy: (value) => value,
  wrong: () => 5 as unknown as string,
  wrongItems: async function* () {
    yield "right";
    yield 5 as unknown as string;
  },
  wrongResult: () => 5 as unknown as string,
  echo: (value) => value,
  compiled: (value) => value,
  any: (input) => input,
  bytes: (input) => input,
  back: (value, { session }) => session.unary(methods.echo, value),
  given: () => "given",
});
const values = { at: new Date(5), big: 2n ** 60n, bytes: new Uint8Array([1, 2]), tags: ["a", "b"] };
const reversed: SessionCodec = {
  name: "reversed-json",
  encode(value, out) {
    const bytes = new TextEncoder().encode(JSON.stringify(value)).reverse();
    out.reserve(bytes.length);
    out.buffer.set(bytes, out.position);
    out.position += bytes.length;
  },
  decode: (bytes, start, end) => JSON.parse(new TextDecoder().decode(bytes.slice(start, end).reverse())) as unknown,
};

describe.each(distinctKinds)("codecs of a session: $name", (kind) => {
  const connect = (client: SessionCodec, server?: SessionCodec): Promise<Pair> =>
    kind.connect(
      {},
      {
        client: { codec: client, routers: [router] },
        server: { routers: [router], codecs: [client], ...(server !== undefined && { codec: server }) },
      },
    );

  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    it.each([
      ["msgpack", msgpack],
      ["records", msgpackRecords([["at", "big", "bytes", "tags"]])],
      ["json", json],
    ])("messages of every kind of call in %s", async (_, codec) => {
      const pair = await connect(codec);
      expect(await pair.client.unary(methods.echo, values, { via })).toEqual(values);
      expect(await pair.client.unary(methods.compiled, values, { via })).toEqual(values);
      const { readable, writable } = pair.client.duplex(methods.any, { via });
      const writer = writable.getWriter();
      for (const value of [1, "two", { three: [3] }, null]) void writer.write(value);
      void writer.close();
      expect(await collect(readable)).toEqual([1, "two", { three: [3] }, null]);
      expect(await collect(pair.client.serverStream(plain.items, { n: 3 }, { via }))).toHaveLength(3);
      expect(await pair.client.clientStream(plain.sum, [1, 2], { via })).toBe(3);
      await pair.client.notify(plain.note, { text: "noted" }, { via });
      await pair.witness.until("note noted");
      await pair.close();
    });

    it.each([
      ["msgpack", msgpack],
      ["records", msgpackRecords()],
      ["json", json],
    ])("C50 what a sender accepts a receiver accepts, in %s", async (_, codec) => {
      const pair = await connect(codec);
      const value = {
        any: undefined,
        unknown: [{ inside: undefined }, { inside: 1 }],
        map: new Map([[1, new Set(["a"])]]),
        keyed: new Map([[{ a: 1 }, "b"]]),
        either: new Map([["c", new Set([1])]]),
      };
      expect(await pair.client.unary(methods.lossy, value, { via })).toEqual(value);
      await pair.close();
    });

    it("C50 a server is told of what its handlers gave that does not fit", async () => {
      const told: [string | undefined, string][] = [];
      const onError = (error: unknown, { method }: { readonly method?: string }): void => {
        told.push([method, String(error)]);
      };
      const pair = await kind.connect({}, { server: { routers: [router], onError } });
      const internal = { code: "internal" };
      expect(await failure(pair.client.unary(methods.wrong, undefined, { via }))).toMatchObject(internal);
      expect(await failure(collect(pair.client.serverStream(methods.wrongItems, undefined, { via })))).toMatchObject(
        internal,
      );
      expect(await failure(pair.client.clientStream(methods.wrongResult, ["a"], { via }))).toMatchObject(internal);
      expect(told).toEqual(
        ["wrong", "wrongItems", "wrongResult"].map((name) => [
          `test.v1.Codecs/${name}`,
          expect.stringContaining("expected string") as string,
        ]),
      );
      // The session goes on.
      const lossy = { any: 1, unknown: [], map: new Map(), keyed: new Map(), either: "" };
      expect(await pair.client.unary(methods.lossy, lossy, { via })).toEqual(lossy);
      await pair.close();
    });

    it("raw bytes stay what they are, whatever the codec", async () => {
      const pair = await connect(json);
      const { readable, writable } = pair.client.duplex(methods.bytes, { via });
      const writer = writable.getWriter();
      void writer.write(values.bytes);
      void writer.close();
      expect(new Uint8Array(Buffer.concat(await collect(readable)))).toEqual(values.bytes);
      await pair.close();
    });

    it("each side chooses for its own calls", async () => {
      const pair = await connect(json, msgpack);
      expect(await pair.client.unary(methods.back, values, { via })).toEqual(values);
      expect(await pair.server.unary(methods.echo, values, { via })).toEqual(values);
      await pair.close();
    });

    it("the user's own", async () => {
      const pair = await connect(reversed);
      expect(await pair.client.unary(plain.echo, { text: "mine" }, { via })).toEqual({ text: "mine" });
      await pair.close();
    });

    it("messages that are bytes already", async () => {
      const pair = await connect(raw);
      const { readable, writable } = pair.client.duplex(methods.any, { via });
      const writer = writable.getWriter();
      void writer.write(values.bytes);
      void writer.close();
      expect((await collect(readable)).map((bytes) => [...(bytes as Uint8Array)])).toEqual([[1, 2]]);
      expect(await failure(pair.client.unary(plain.echo, { text: "a" }, { via }))).toMatchObject({
        code: "invalid_argument",
        message: "the codec raw takes Uint8Array only",
      });
      await pair.close();
    });

    it("C59 a codec that the callee does not know is named", async () => {
      const pair = await kind.connect({}, { client: { codec: reversed }, server: { routers: [router] } });
      const message = 'the codec "reversed-json" is not known here: there are msgpack, json, raw';
      const error = { code: "unimplemented", message };
      expect(await failure(pair.client.unary(plain.echo, { text: "a" }, { via }))).toMatchObject(error);
      expect(await failure(pair.client.unary(methods.given, undefined, { via }))).toMatchObject(error);
      expect(await failure(collect(pair.client.serverStream(plain.items, { n: 1 }, { via })))).toMatchObject(error);
      expect(await failure(pair.client.clientStream(plain.sum, [1], { via }))).toMatchObject(error);
      // What has no message needs no codec.
      await pair.client.unary(plain.nothing, undefined, { via });
      await pair.close();
    });

    it("C50 what does not fit the schema is refused by both sides", async () => {
      const pair = await connect(json);
      const wrong = { text: 5 } as unknown as { text: string };
      const error = await failure(pair.client.unary(plain.echo, wrong, { via }));
      expect(error).toMatchObject({ code: "invalid_argument", details: [{ path: ["text"] }] });
      expect(await failure(pair.client.unary(plain.wrong, { text: "" }, { via }))).toMatchObject({ code: "internal" });
      await pair.close();
    });

    it("C44 error details are MessagePack in every codec", async () => {
      const pair = await connect(reversed);
      const call = pair.client.unary(plain.fail, { code: "aborted", message: "m", details: { at: 1 } }, { via });
      expect(await failure(call)).toMatchObject({ code: "aborted", details: { at: 1 } });
      await pair.close();
    });
  });
});

it("a codec's name must fit the wire", async () => {
  const [memory] = distinctKinds;
  const codec = { ...reversed, name: "größe" };
  await expect(memory?.connect({}, { client: { codec } })).rejects.toThrow("a codec's name has 1 to 64 of a-z");
});
