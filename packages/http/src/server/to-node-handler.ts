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
  /**
   * Answers a request.
   * @param next called for requests to other paths, which another handler can answer
   */
  (request: NodeRequest, response: NodeResponse, next?: () => void): void;
  /**
   * Answers an HTTP/2 request through its stream, as the event "stream" of `node:http2` passes it. This costs the
   * server less than Node's HTTP/1.1 compatibility API.
   * @param added header fields to add to the response
   */
  readonly http2: (stream: Http2Stream, headers: NodeHeaders, added?: Readonly<Record<string, string>>) => void;
  /**
   * Answers a plain HTTP/3 request. The engine of `@quicrpc/quic` passes such requests to its callback `onHttpRequest`.
   */
  readonly http3: (request: Http3Request) => void;
}

/**
 * Converts a handler made by `createFetchHandler` to a request listener for `node:http`, `node:https` and `node:http2`,
 * and to middleware for Express and Fastify, which passes requests to other paths on. Mount it before any middleware
 * that reads bodies.
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
