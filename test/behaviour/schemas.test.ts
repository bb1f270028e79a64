import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import type { Session } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { distinctKinds, type Pair } from "./kinds.js";
import { collect, failure } from "./tools.js";

const service = { name: "test.v1.Schemas", id: 81 };

/** The methods of one version of a schema: of an order, and of what comes back. */
function version<Order extends z.ZodType, Receipt extends z.ZodType>(
  order: Order,
  receipt: Receipt,
  fingerprint: number,
) {
  const [input, output] = [zodCodec(order), zodCodec(receipt)];
  const options = <const Id extends number>(id: Id): { id: Id; fingerprint: number } => ({ id, fingerprint });
  return {
    place: defineMethod(service, "unary", "place", { ...options(1), input, output }),
    watch: defineMethod(service, "server_stream", "watch", { ...options(2), input, output }),
    upload: defineMethod(service, "client_stream", "upload", { ...options(3), input, output }),
    chat: defineMethod(service, "duplex", "chat", { ...options(4), input, output }),
  };
}

const Order = z.object({ item: z.object({ count: z.int() }) });
const Receipt = z.object({ total: z.number() });
const one = version(Order, Receipt, 1);
/** Orders got a field, receipts lost one. */
const two = version(
  z.object({ item: z.object({ count: z.int(), size: z.string() }) }),
  z.object({ sum: z.number() }),
  0xffff_fffe,
);
/** As the first, with one more field that may be left out. */
const compatible = version(Order.extend({ note: z.string().optional() }), Receipt, 3);
const order = { item: { count: 1 } };
const mismatch = "the peers were generated from different schemas of test.v1.Schemas";

/** Keeps the types of methods whose handlers serve another version of them. */
type Methods = typeof one;

function serve(methods: Methods, receipt: unknown) {
  const answer = receipt as { total: number };
  return createRouter(methods, {
    place: () => answer,
    watch: () => [answer],
    upload: async (input) => {
      await collect(input);
      return answer;
    },
    async *chat(input) {
      for await (const _ of input) yield answer;
    },
  });
}

describe.each(distinctKinds)("schemas that differ: $name", (kind) => {
  describe.each(["lane", "stream"] as const)("by %s", (via) => {
    const connect = (methods: Methods, receipt: unknown): Promise<Pair> =>
      kind.connect({}, { server: { routers: [serve(methods, receipt)] } });
    const calls = (client: Session, methods: Methods): Record<keyof Methods, () => Promise<unknown>> => ({
      place: () => client.unary(methods.place, order, { via }),
      watch: () => collect(client.serverStream(methods.watch, order, { via })),
      upload: () => client.clientStream(methods.upload, [order], { via }),
      chat: () => {
        const { readable, writable } = client.duplex(methods.chat, { via });
        const writer = writable.getWriter();
        void writer.write(order).catch(() => {});
        void writer.close().catch(() => {});
        return collect(readable);
      },
    });

    it.each(["place", "watch", "upload", "chat"] as const)(
      "C70 a request of %s that does not fit names the field",
      async (name) => {
        const pair = await connect(two as unknown as Methods, { sum: 1 });
        // At the first call, and at every later one.
        for (let i = 0; i < 2; i++) {
          const error = await failure(calls(pair.client, one)[name]());
          expect(error).toMatchObject({ code: "failed_precondition", details: [{ path: ["item", "size"] }] });
          expect(error.message).toContain(`${mismatch}/${name}: `);
          expect(error.message).toContain("item.size");
        }
        await pair.close();
      },
    );

    it("C70 a request that was not sent does not hide the difference from the next one", async () => {
      const pair = await connect(two as unknown as Methods, { sum: 1 });
      const refused = failure(pair.client.unary(one.place, { item: {} } as typeof order, { via }));
      expect(await refused).toMatchObject({ code: "invalid_argument" });
      const error = await failure(calls(pair.client, one).place());
      expect(error).toMatchObject({ code: "failed_precondition", details: [{ path: ["item", "size"] }] });
      await pair.close();
    });

    it.each(["place", "watch", "upload", "chat"] as const)(
      "C70 an answer of %s that does not fit names the field",
      async (name) => {
        const server = {
          ...two,
          ...Object.fromEntries(
            Object.entries(two).map(([key, method]) => [key, { ...method, input: one.place.input }]),
          ),
        };
        const pair = await connect(server as unknown as Methods, { sum: 1 });
        for (let i = 0; i < 2; i++) {
          const error = await failure(calls(pair.client, one)[name]());
          expect(error).toMatchObject({ code: "failed_precondition", details: [{ path: ["total"] }] });
          expect(error.message).toContain(`${mismatch}/${name}: `);
        }
        await pair.close();
      },
    );

    it("C70 a difference alone fails nothing", async () => {
      const pair = await connect(compatible, { total: 3 });
      for (const call of Object.values(calls(pair.client, one))) expect(await call()).toBeDefined();
      await pair.close();
    });

    it("C50 without a difference, the message alone is to blame", async () => {
      const pair = await connect(one, { total: 3 });
      const wrong = { ...one, place: { ...one.place, input: zodCodec(z.unknown()) } };
      const call = pair.client.unary(wrong.place as Methods["place"], { item: 5 } as never, { via });
      expect(await failure(call)).toMatchObject({ code: "invalid_argument", details: [{ path: ["item"] }] });
      await pair.close();
    });
  });
});
