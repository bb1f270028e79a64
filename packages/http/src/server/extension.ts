import type { Limits, Router } from "@quicrpc/core";

/** A handler that is served next to the methods at its own path, such as `mcp()` of `@quicrpc/mcp`. */
export interface HttpExtension {
  /** Its path, such as "/mcp", below the handler's prefix. */
  readonly path: string;
  /**
   * Begins to serve: each handler calls it once, before its first request. Throws `TypeError` if it cannot be served.
   */
  start(host: ExtensionHost): ExtensionAnswer;
}

/** The handler that an extension belongs to. */
export interface ExtensionHost {
  /** The services, without interceptors. */
  readonly router: Router<never>;
  readonly limits: Limits;
  /** Prefix of all paths; "" for none. */
  readonly prefix: string;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
}

/**
 * Answers requests to a path. Pages and clients without permission have been refused before. A thrown `RpcError` is
 * answered as JSON, any other exception as `internal`.
 */
export type ExtensionAnswer = (request: ExtensionRequest) => Promise<Response>;

/** A request that has arrived completely. */
export interface ExtensionRequest {
  /** The request without its body; its signal fires when the client disconnects. */
  readonly request: Request;
  /**
   * Parses the body. Throws `RpcError` for invalid JSON, or for more values than fit into the client's memory limit.
   */
  json(): unknown;
  /**
   * Makes a call to the same handler, which is admitted, authenticated and intercepted as if the client had sent it.
   */
  readonly call: (request: Request) => Promise<Response>;
}
