import type { Metadata } from "@quicrpc/core";
import type { IncomingContext } from "@quicrpc/core/internal";
import type { HttpExchange } from "./exchange.js";
import type { HttpCall } from "./http-call.js";
import type { HttpRequest } from "./http-request.js";
import type { Bound, Match } from "./routes.js";

/** A protocol of calls that is served in addition to Connect, on the same paths: `grpc()` of `@quicrpc/grpc`. */
export interface HttpProtocol {
  /**
   * Begins to serve: each handler calls it once, before its first request. Throws `TypeError` if it cannot be served.
   */
  serve(host: ProtocolHost): ProtocolRoutes;
}

/** The handler that a protocol belongs to. */
export interface ProtocolHost {
  /** Returns a method by its full name. */
  find(name: string): Bound<unknown> | undefined;
}

/** Finds the methods of requests. */
export interface ProtocolRoutes {
  /** Returns true if the path belongs to a method of the protocol. */
  owns(path: string): boolean;
  /**
   * Finds the method of a request. Returns "answered" if the request was answered otherwise, and undefined for a request
   * of another protocol.
   */
  match(exchange: HttpExchange): Match<unknown> | "answered" | undefined;
}

/** What the requests and responses of a call contain. */
export interface CallProtocol {
  /** Header that names the compression of messages in envelopes. */
  readonly codingHeader: string;
  /** Returns the names of the compressions that the client supports, separated by commas. */
  accepts(request: HttpRequest): string | undefined;
  /** Returns the time in milliseconds that the caller waits; undefined if it gave none. Throws `RpcError`. */
  timeoutOf(exchange: HttpExchange): number | undefined;
  /** Returns the metadata of a request. Throws `RpcError` for a malformed value. */
  metadataOf(exchange: HttpExchange): Metadata;
  /** Creates a call that sends an answer. */
  answer(request: HttpRequest, context: IncomingContext<unknown> | undefined, bytes: number): HttpCall;
}
