// Server of the page in script-tag/: see docs/script-tag.md.
import type { Router } from "@quicrpc/core";
import { serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";

export async function serveScriptTag(
  options: Pick<ServeOptions, "listen" | "tls" | "allowedOrigins">,
  arithRouter: Router,
): Promise<Server> {
  // #region server
  const routers = [arithRouter]; // createArithRouter({ … })
  const server = await serve({
    ...options, // listen: ["https://[::]:4433/rpc"], and tls
    routers: [...routers, createReflection(routers)],
    http: { prefix: "/rpc" },
    webSocket: true,
  });
  // #endregion server
  return server;
}
