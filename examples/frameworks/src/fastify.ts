// Fastify 5. In a plugin of its own, whose bodies Fastify leaves alone.
import { toNodeHandler } from "@quicrpc/http";
import { fastify, type FastifyInstance } from "fastify";
import { handler } from "./greeter.js";

export const app: FastifyInstance = fastify();
app.get("/", () => "Fastify");
app.register((rpc, _, done) => {
  rpc.removeAllContentTypeParsers();
  rpc.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  const serve = toNodeHandler(handler);
  rpc.all("/rpc/*", ({ raw }, reply) => {
    reply.hijack();
    serve(raw, reply.raw);
  });
  done();
});
