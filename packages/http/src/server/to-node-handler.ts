import type { FetchHandler } from "./create-fetch-handler.js";
import { serviceBehind } from "./create-fetch-handler.js";
import { Http2Exchange, type Http2Stream } from "./http2-exchange.js";
import { Http3Exchange, type Http3Request } from "./http3-exchange.js";
import type { NodeHeaders } from "./node-input.js";
import { NodeExchange, requestTargetOf, type NodeRequest, type NodeResponse } from "./node-exchange.js";

export type { Http2Stream } from "./http2-exchange.js";
export type { NodeHeaders } from "./node-input.js";
export type { Http3Request } from "./http3-exchange.js";
export type { NodeRequest, NodeResponse } from "./node-exchange.js";

/** Answers requests of Node's servers. */
export interface NodeHandler extends Pick<FetchHandler, "drain"> {
  /** @param next receives requests to other paths, if another handler can answer them */
  (request: NodeRequest, response: NodeResponse, next?: () => void): void;
  /**
   * Answers an HTTP/2 request through its stream, as passed by the event "stream" of `node:http2`. This costs a server
   * less than the same request in the HTTP/1.1 compatibility API.
   * @param added fields to add to the response
   */
  readonly http2: (stream: Http2Stream, headers: NodeHeaders, added?: Readonly<Record<string, string>>) => void;
  /** Answers a request of plain HTTP/3, as passed by the engine of `@quicrpc/quic` (`onHttpRequest`). */
  readonly http3: (request: Http3Request) => void;
}

/**
 * Converts a handler made by `createFetchHandler` into a listener for requests of `node:http`, `node:https` and
 * `node:http2`, and into middleware for Express and Fastify, which forwards requests to other paths. Mount it before
 * any middleware that reads bodies.
 */
export function toNodeHandler(handler: FetchHandler): NodeHandler {
  const service = serviceBehind(handler);
  const handle = (request: NodeRequest, response: NodeResponse, next?: () => void): void => {
    const target = requestTargetOf(request, next && ((path) => service.owns(path)));
    if (next !== undefined && !service.owns(target)) next();
    else service.handle(new NodeExchange(request, response, target));
  };
  const http3 = (request: Http3Request): void => service.handle(new Http3Exchange(request));
  const http2: NodeHandler["http2"] = (stream, headers, added) =>
    service.handle(new Http2Exchange(stream, headers, added));
  return Object.assign(handle, { drain: handler.drain, http2, http3 });
}
