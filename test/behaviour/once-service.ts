import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { durableRouter, onceCalls } from "@quicrpc/durable/generated";
import type { Router } from "@quicrpc/core";
import { z } from "zod";

const service = { name: "test.v1.Once", id: 4669 };

/** A method whose calls take effect once: it adds one to the counter of a name. */
export const once = {
  add: defineMethod(service, "unary", "add", {
    id: 1,
    input: zodCodec(z.object({ name: z.string(), waitMs: z.int() })),
    output: zodCodec(z.object({ count: z.int(), key: z.string() })),
    extension: onceCalls,
  }),
};

export function onceRouter(): Router {
  const counters = new Map<string, number>();
  return durableRouter(
    createRouter(once, {
      async add({ name, waitMs }, context) {
        const count = (counters.get(name) ?? 0) + 1;
        counters.set(name, count);
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        return { count, key: context.once?.key ?? "" };
      },
    }),
  );
}
