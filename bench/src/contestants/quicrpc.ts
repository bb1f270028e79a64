import { createRouter, defineMethod, type CallOptions, zodCodec } from "@quicrpc/core";
import { connect, serve } from "@quicrpc/node";
import { z } from "zod";
import type { Contestant } from "../contestant.js";

const multiply = defineMethod({ name: "demo.v1.Arith", id: 1 }, "unary", "multiply", {
  id: 1,
  input: zodCodec(z.object({ a: z.int(), b: z.int() })),
  output: zodCodec(z.object({ pro: z.int() })),
});

function over(name: string, options: CallOptions): Contestant {
  return {
    name,
    async serve(tls) {
      const router = createRouter({ multiply }, { multiply: ({ a, b }) => ({ pro: a * b }) });
      const { address } = await serve({ host: "127.0.0.1", port: 0, tls, routers: [router] });
      return address.port;
    },
    async connect(port, { hash }) {
      const session = await connect(`quic://127.0.0.1:${port}`, { serverCertificateHashes: [hash] });
      return {
        multiply: async (a, b) => (await session.unary(multiply, { a, b }, options)).pro,
        close: async () => void (await session.close()),
      };
    },
  };
}

/** Validated by zod on both sides, both ways. */
export const lane: Contestant = over("quicrpc, lane", { via: "lane" });
export const stream: Contestant = over("quicrpc, stream per call", { via: "stream" });
