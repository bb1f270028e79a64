// The same service in every framework: a fetch handler, made once.
import { type Router, rpcError } from "@quicrpc/core";
import { createFetchHandler } from "@quicrpc/http";
import { createGreeterRouter, greeterMethods } from "./generated/greeter.js";

export const router: Router = createGreeterRouter({
  greet({ name }) {
    if (name === "owl") throw rpcError(greeterMethods.greet, "ASLEEP", { until: new Date(0) });
    return { text: `Hello, ${name}!` };
  },
  *count({ from }) {
    for (let i = from; i > 0; i--) yield i;
  },
});

export const handler: ReturnType<typeof createFetchHandler> = createFetchHandler({ routers: [router], prefix: "/rpc" });
