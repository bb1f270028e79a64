// A server that a test kills: `live` of `page/queries.ts` says its name, and stays open.
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, serve } from "@quicrpc/node";
import { methods } from "./page/queries.js";

const { port, name } = JSON.parse(process.argv[2] ?? "") as { readonly port: number; readonly name: string };

const { live } = methods;
const router = createRouter(
  { live },
  {
    async *live(_, { signal }) {
      yield name;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  },
);
await serve({
  listen: [`https://127.0.0.1:${port}/rpc`],
  tls: await devCertificate(),
  allowedOrigins: () => true,
  routers: [router],
});
process.send?.("ready");
