import type { FetchHandler } from "./create-fetch-handler.js";
import { serviceOf } from "./create-fetch-handler.js";
import { NodeExchange, type NodeRequest, type NodeResponse } from "./node-exchange.js";

export type { NodeRequest, NodeResponse } from "./node-exchange.js";

/**
 * Turns a handler by `createFetchHandler` into a listener for requests of `node:http`, `node:https` and `node:http2`, and into
 * middleware of Express and Fastify. Mount it before anything that reads bodies.
 */
export function toNodeHandler(handler: FetchHandler): (request: NodeRequest, response: NodeResponse) => void {
  const service = serviceOf(handler);
  return (request, response) => service.handle(new NodeExchange(request, response));
}
