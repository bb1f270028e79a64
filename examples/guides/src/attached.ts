// Sessions over WebSocket on an HTTP server of the program's own: see docs/serving.md.
import { createServer, type RequestListener, type Server } from "node:http";
import { createSession, type Router } from "@quicrpc/core";
import { WEBSOCKET_PROTOCOL, webSocketTransport } from "@quicrpc/core/transport";
import { WebSocketServer } from "ws";

export function attach(app: RequestListener, routers: readonly Router[], port: number): Server {
  // #region attached
  const server = createServer(app).listen(port); // app: Express and the like
  const sockets = new WebSocketServer({ server, path: "/rpc", handleProtocols: () => WEBSOCKET_PROTOCOL });
  sockets.on("connection", (socket) => {
    createSession(webSocketTransport(socket, "server"), { routers });
  });
  // #endregion attached
  return server;
}
