// Other servers of JSON over HTTP, for `npm run bench http`: each in its own usual way, with zod for the input.
import { getRequestListener } from "@hono/node-server";
import { os } from "@orpc/server";
import { RPCHandler } from "@orpc/server/node";
import { initTRPC } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { Hono } from "hono";
import { validator } from "hono/validator";
import { z } from "zod";
import { service } from "./contestant.js";

/** A server with one method, `multiply`. */
interface HttpPeer {
  readonly path: string;
  /** Its listener for `node:http` and `node:http2`. */
  listener(): (request: never, response: never) => unknown;
  /** Wraps a request message, and a response unless `wrapAnswer` differs. */
  readonly wrap?: (json: string) => string;
  readonly wrapAnswer?: (json: string) => string;
}

const input = z.object({ a: z.number(), b: z.number() });
const multiply = ({ a, b }: z.infer<typeof input>): { readonly pro: number } => ({ pro: service.multiply(a, b) });

const trpc: HttpPeer = {
  path: "/trpc/multiply",
  wrapAnswer: (json) => `{"result":{"data":${json}}}`,
  listener() {
    const { procedure, router: routerOf } = initTRPC.create();
    const router = routerOf({ multiply: procedure.input(input).mutation(({ input: pair }) => multiply(pair)) });
    return getRequestListener((req) => fetchRequestHandler({ endpoint: "/trpc", req, router }));
  },
};

const hono: HttpPeer = {
  path: "/multiply",
  listener() {
    const checked = validator("json", (value) => input.parse(value));
    const app = new Hono().post("/multiply", checked, (context) => context.json(multiply(context.req.valid("json"))));
    return getRequestListener(app.fetch);
  },
};

const orpc: HttpPeer = {
  path: "/multiply",
  wrap: (json) => `{"json":${json}}`,
  listener() {
    const handler = new RPCHandler({ multiply: os.input(input).handler(({ input: pair }) => multiply(pair)) });
    return (request, response) => handler.handle(request, response);
  },
};

export const httpPeers = { trpc, hono, orpc } as const satisfies Record<string, HttpPeer>;

export function isHttpPeer(name: string): name is keyof typeof httpPeers {
  return Object.hasOwn(httpPeers, name);
}
