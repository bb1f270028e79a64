// The service, on the server alone: for requests (app/rpc), and for pages that call it without any.
import { createLocalCaller } from "@quicrpc/core";
import { createFetchHandler } from "@quicrpc/http";
import { createGreeterRouter } from "./generated/greeter.ts";

const routers = [
  createGreeterRouter({
    greet: ({ name }) => ({ text: `Hello, ${name}!`, at: new Date() }),
    *count({ from }) {
      for (let i = from; i > 0; i--) yield i;
    },
  }),
];

export const handler = createFetchHandler({ routers, prefix: "/rpc" });
export const local = createLocalCaller(routers);
