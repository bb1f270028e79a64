// Calls that take effect once, on several servers: see docs/once.md.
import type { Router } from "@quicrpc/core";
import { serve, type ServeOptions, type Server } from "@quicrpc/node";
import { RedisOnceStore } from "@quicrpc/redis";
import { createClient } from "redis";

export async function serveOnceByRedis(
  tls: NonNullable<ServeOptions["tls"]>,
  routers: readonly Router[],
  authenticate: () => string,
): Promise<{ readonly server: Server; readonly client: { destroy(): void } }> {
  // #region store
  const client = createClient({ url: "redis://cache.example:6379", commandOptions: { timeout: 2000 } });
  client.on("error", (error) => console.error(error));
  await client.connect();
  const store = new RedisOnceStore(client);
  const server = await serve({ port: 4433, tls, routers, authenticate, advanced: { once: { store } } });
  // #endregion store
  return { server, client };
}
