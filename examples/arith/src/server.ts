import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "@quicrpc/core";
import { devCertificate, serve } from "@quicrpc/node";
import { createArithRouter } from "./generated/arith.js";

const router = createArithRouter({
  multiply: ({ a, b }) => ({ pro: a * b }),

  divide: ({ a, b }) => {
    if (b === 0) throw new RpcError("invalid_argument", "cannot divide by zero", { details: { a } });
    return { quo: Math.trunc(a / b), rem: a % b };
  },

  log: ({ line }) => console.log(`client says: ${line}`),

  async *ticks({ n, everyMs }, { signal }) {
    for (let i = 0; i < n; i++) {
      if (i > 0) await sleep(everyMs, undefined, { signal });
      yield { i, at: Date.now() };
    }
  },
});

const url = process.env["LISTEN"] ?? "quic://localhost:4433";
const server = await serve({ listen: [url], tls: await devCertificate(), routers: [router] });
console.log(`serving demo.v1.Arith on ${server.urls[0]}`);

process.once("SIGTERM", () => void server.close());
process.once("SIGINT", () => void server.close());
