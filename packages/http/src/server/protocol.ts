import type { Metadata } from "@quicrpc/core";
import type { IncomingContext } from "@quicrpc/core/internal";
import type { HttpExchange } from "./exchange.js";
import type { HttpCall } from "./http-call.js";
import type { HttpServerRequest } from "./http-request.js";
import type { Bound, Match } from "./routes.js";

/**
 * A protocol for calls that a server supports in addition to Connect, on the same paths, such as `grpc()` of
 * `@quicrpc/grpc`.
 */
export interface HttpProtocol {
  /** Called once by each handler before its first request. Throws `TypeError` if the protocol cannot be served. */
  serve(host: ProtocolHost): ProtocolRoutes;
}

/** The HTTP handler that a protocol is part of. */
export interface ProtocolHost {
  /** Returns the method with this full name, such as "shop.v1.Orders/get"; undefined if there is none. */
  find(name: string): Bound<unknown> | undefined;
}

/** Assigns requests to methods, for one protocol. */
export interface ProtocolRoutes {
  owns(path: string): boolean;
  /**
   * Finds the method of a request. Returns "answered" if an error was sent instead, and undefined if the request
   * belongs to another protocol.
   */
  match(exchange: HttpExchange): Match<unknown> | "answered" | undefined;
}

/** Reads the requests and creates the responses of a protocol. */
export interface CallProtocol {
  /**
   * Returns the exchange that the call reads and writes, if the protocol encodes its bodies. Default: the request's own
   * exchange.
   */
  exchangeOf?(exchange: HttpExchange): HttpExchange;
  /** Name of the header that states the compression of messages in envelopes. */
  readonly codingHeader: string;
  /**
   * Returns the names of the compressions that the client supports, separated by commas; undefined if it names none.
   */
  accepts(request: HttpServerRequest): string | undefined;
  /**
   * Returns the milliseconds that the caller waits; undefined if it has set no timeout. Throws `RpcError` if the value
   * is malformed.
   */
  timeoutOf(exchange: HttpExchange): number | undefined;
  metadataOf(exchange: HttpExchange): Metadata;
  answer(request: HttpServerRequest, context: IncomingContext<unknown> | undefined, bytes: number): HttpCall;
}
