import { createBatches } from "@quicrpc/batch";
import { devCertificate, serve } from "@quicrpc/node";
import { postsRouter, authorsRouter } from "./routers.js";

await serve({
  port: 4433,
  tls: await devCertificate(),
  http: true,
  routers: [authorsRouter, postsRouter, createBatches()],
});
