// A service in zod for gRPC clients, and a client of gRPC servers: see docs/grpc.md.
import { grpc, grpcTransport } from "@quicrpc/grpc";
import { createFetchHandler, http2Fetch, toNodeHandler } from "@quicrpc/http";
import { type Server, serve, type ServeOptions } from "@quicrpc/node";
import { connect, createServer, type Http2Server } from "node:http2";
import {
  createDrawingServiceClient,
  createDrawingServiceRouter,
  type DrawingServiceClient,
  type DrawingServiceHandlers,
} from "./generated/drawings.js";
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

export function callByGrpc(
  url: string,
  ca: string,
): { readonly drawings: DrawingServiceClient; readonly close: () => void } {
  // #region call
  const fetch = http2Fetch(connect, { ca });
  const transport = grpcTransport({ services: [drawingServiceProtobuf], fetch });
  const drawings = createDrawingServiceClient(transport.caller(url));
  // #endregion call
  return { drawings, close: () => fetch.close() };
}
