// A server with every default, which ends as its parent says. See restarted-server.ts.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { serve } from "@quicrpc/node";
import type { Ending, ServerSettings } from "./restarted-server.js";

const { url, tls, secret, port = 0 } = JSON.parse(process.argv[2] ?? "") as ServerSettings;
const service = { name: "test.v1.Restarted", id: 7101 };
const any = uncheckedCodec<number>();
const methods = {
  pid: defineMethod(service, "unary", "pid", { id: 1, output: any }),
  wait: defineMethod(service, "unary", "wait", { id: 2 }),
  quiet: defineMethod(service, "server_stream", "quiet", { id: 3, output: any }),
};
const router = createRouter(methods, {
  pid: () => process.pid,
  wait: () => new Promise<undefined>(() => {}),
  async *quiet() {
    yield process.pid;
    await new Promise(() => {});
  },
});
const server = await serve({
  listen: [`${url}:${port}`],
  tls,
  routers: [router],
  ...(secret !== undefined && { advanced: { secret: Buffer.from(secret, "hex") } }),
});
process.on("message", (how: Ending) => {
  if (how === "process.exit") process.exit(1);
  process.stderr.write = () => true;
  throw new Error("the uncaught error");
});
process.send?.(server.address.port);
