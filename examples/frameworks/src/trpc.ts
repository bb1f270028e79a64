// tRPC and quicrpc in one server, so that procedures can move one at a time.
import { createServer, type Server } from "node:http";
import { createLocalCaller } from "@quicrpc/core";
import { toNodeHandler } from "@quicrpc/http";
import { initTRPC } from "@trpc/server";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { z } from "zod";
import { createGreeterClient } from "./generated/greeter.js";
import { handler, router } from "./greeter.js";

// #region server
const greeter = createGreeterClient(createLocalCaller([router])); // calls the handlers in this process
const t = initTRPC.create();
const appRouter = t.router({
  part: t.procedure.input(z.object({ name: z.string() })).query(({ input }) => ({ text: `Bye, ${input.name}!` })),
  // Has moved: clients of tRPC still find it here, until none calls it.
  greet: t.procedure.input(z.object({ name: z.string() })).query(({ input }) => greeter.greet(input)),
});

const trpc = createHTTPHandler({ router: appRouter, basePath: "/trpc/" });
const rpc = toNodeHandler(handler); // createFetchHandler({ routers: [router], prefix: "/rpc" })
export const server: Server = createServer((request, response) =>
  request.url?.startsWith("/rpc/") ? rpc(request, response) : trpc(request, response),
);
// #endregion server
