import {
  appendBytes,
  createMemoryPair,
  createRouter,
  createSession,
  defineMethod,
  type SessionCodec,
  zodCodec,
} from "@quicrpc/core";
import { decode, encode } from "cbor-x";
import { expect, it } from "vitest";
import { z } from "zod";

/** The codec of docs/codecs.md. */
const cbor: SessionCodec = {
  name: "cbor",
  encode: (value, out) => appendBytes(out, encode(value)),
  decode: (bytes, start, end) => decode(bytes.subarray(start, end)) as unknown,
};

const Order = z.object({ id: z.string(), at: z.date(), cents: z.bigint(), tags: z.set(z.string()) });
const service = { name: "shop.v1.Orders", id: 1 };
const methods = {
  place: defineMethod(service, "unary", "place", { id: 1, input: zodCodec(Order), output: zodCodec(Order) }),
  watch: defineMethod(service, "server_stream", "watch", { id: 2, input: zodCodec(Order), output: zodCodec(Order) }),
};

it.each(["lane", "stream"] as const)("a session whose messages are CBOR, by %s", async (via) => {
  const [here, there] = createMemoryPair();
  const handlers = {
    place: (order: z.infer<typeof Order>) => order,
    watch: (order: z.infer<typeof Order>) => [order, order],
  };
  createSession(there, { routers: [createRouter(methods, handlers)], codecs: [cbor] });
  const session = createSession(here, { codec: cbor });
  const order = { id: "o-1", at: new Date(5_000), cents: 2n ** 62n, tags: new Set(["new"]) };
  expect(await session.unary(methods.place, order, { via })).toEqual(order);
  const items: unknown[] = [];
  for await (const item of session.serverStream(methods.watch, order, { via })) items.push(item);
  expect(items).toEqual([order, order]);
  await session.close();
});
