// A gRPC service moves to quicrpc: see docs/from-grpc.md.
import { grpc, grpcTransport } from "@quicrpc/grpc";
import { http2Fetch } from "@quicrpc/http";
import { connect, serve, type Server, type ServeOptions } from "@quicrpc/node";
import { connect as connectHttp2 } from "node:http2";
import { createStockClient, createStockRouter, type Level, type StockClient } from "./generated/stock.js";
import { stockProtobuf } from "./generated/stock.protobuf.js";
import { Unit } from "./stock.service.js";

export function clientOfOld(url: string): { readonly old: StockClient; readonly close: () => void } {
  // #region old
  const fetch = http2Fetch(connectHttp2);
  const transport = grpcTransport({ services: [stockProtobuf], fetch });
  const old = createStockClient(transport.caller(url));
  // #endregion old
  return { old, close: () => fetch.close() };
}

export async function serveBeside(
  old: StockClient,
  levels: ReadonlyMap<string, number>,
  port: number,
  tls: NonNullable<ServeOptions["tls"]>,
): Promise<Server> {
  // #region beside
  const router = createStockRouter({
    // Moved: this server answers.
    getLevel({ article }): Level {
      return { article, amount: levels.get(article) ?? 0, unit: Unit.UNIT_PIECE };
    },
    // Not moved yet: the old server answers.
    watchLevel: (input, context) => old.watchLevel(input, { parent: context }),
    deliver: (deliveries, context) => old.deliver(deliveries, { parent: context }),
    reserve(deliveries, context) {
      const { readable, writable } = old.reserve({ parent: context });
      deliveries.pipeTo(writable).catch(() => {}); // `readable` fails as well
      return readable;
    },
  });
  const server = await serve({ port, tls, routers: [router], extensions: [grpc(stockProtobuf)] });
  // #endregion beside
  return server;
}

export async function callNew(url: string, ca: string): Promise<Level> {
  // #region new
  await using session = await connect(url, { ca });
  const stock = createStockClient(session);
  const level = await stock.getLevel({ article: "tea" });
  // #endregion new
  return level;
}
