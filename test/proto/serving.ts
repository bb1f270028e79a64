// A service in zod for gRPC clients: see docs/grpc.md.
import { grpc } from "@quicrpc/grpc";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { type Server, serve, type ServeOptions } from "@quicrpc/node";
import { createServer, type Http2Server } from "node:http2";
import { createDrawingServiceRouter, type DrawingServiceHandlers } from "./generated/drawings.js";
import { drawingServiceProtobuf } from "./generated/drawings.protobuf.js";

export async function serveDrawings(
  port: number,
  tls: NonNullable<ServeOptions["tls"]>,
  handlers: DrawingServiceHandlers,
): Promise<Server> {
  // #region serve
  const server = await serve({
    port,
    tls,
    routers: [createDrawingServiceRouter(handlers)],
    extensions: [grpc(drawingServiceProtobuf)],
  });
  // #endregion serve
  return server;
}

export function servePlainly(handlers: DrawingServiceHandlers): Http2Server {
  // #region h2c
  const handler = createFetchHandler({
    routers: [createDrawingServiceRouter(handlers)],
    extensions: [grpc(drawingServiceProtobuf)],
  });
  const server = createServer();
  server.on("stream", toNodeHandler(handler).http2);
  // #endregion h2c
  return server;
}
