// Storage of files that were uploaded over HTTP: see docs/uploads.md.
import type { Router } from "@quicrpc/core";
import { fileUploads, serve, type ServeOptions, type Server } from "@quicrpc/node";

export async function serveUploads(routers: readonly Router[], tls: NonNullable<ServeOptions["tls"]>): Promise<Server> {
  // #region keep
  const uploads = fileUploads("/var/lib/orders/uploads", { maxBytes: 100_000_000_000 });
  const server = await serve({ listen: "https://0.0.0.0:443", routers, tls, http: { uploads } });
  // #endregion keep
  return server;
}
