// Over @fails-components/webtransport: see its package's README.
import type { Connection, Router } from "@quicrpc/core";
import { failsTransport, http2Transport } from "@quicrpc/fails-components";
import { connect, serve, type ServeOptions, type Server } from "@quicrpc/node";

type Tls = NonNullable<ServeOptions["tls"]>;

export async function serveByFails(tls: Tls, routers: readonly Router[]): Promise<[Server, Connection]> {
  // #region instead
  // In place of this project's own engine, which is not loaded then.
  const server = await serve({
    listen: "https://[::]:4433/rpc",
    tls,
    routers,
    advanced: { transports: [failsTransport()] },
  });
  const connection = await connect("https://orders.example:4433/rpc", { advanced: { transports: [failsTransport()] } });
  // #endregion instead
  return [server, connection];
}

export async function serveByBoth(tls: Tls, routers: readonly Router[]): Promise<Server> {
  // #region beside
  // Beside it: WebTransport over HTTP/2, and the ponyfill's WebSocket, on the TCP port of the same number.
  const server = await serve({
    listen: "https://[::]:4433/rpc",
    webSocket: true,
    tls,
    routers,
    advanced: { transports: [http2Transport()] },
  });
  // #endregion beside
  return server;
}
