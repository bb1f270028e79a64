import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defaultServiceId, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { z } from "zod";

const service = { name: "shop.v1.Orders", id: defaultServiceId("shop.v1.Orders") };
const get = defineMethod(service, "unary", "get", {
  id: 1,
  input: zodCodec(z.object({ id: z.string() })),
  output: zodCodec(z.object({ id: z.string(), total: z.number() })),
});
const router = createRouter({ get }, { get: ({ id }) => ({ id, total: 12.5 }) });

const [here, there] = createMemoryPair(); // or `serve({ routers: [router] })` and `connect(url)` of @quicrpc/node
createSession(there, { routers: [router] });
const session = createSession(here);
const order = await session.unary(get, { id: "o-1" }, { timeoutMs: 200 });
console.log(order.total); // 12.5
await session.close();
