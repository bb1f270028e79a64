import type { Limits, Router } from "@quicrpc/core";

/** Serves requests at its own path next to the methods of a server, such as `mcp()` of `@quicrpc/mcp`. */
export interface HttpExtension {
  /** Path of the extension, such as "/mcp", below the handler's prefix. */
  readonly path: string;
  /**
   * Called once by each handler before its first request. Returns the function that answers requests. Throws
   * `TypeError` if the extension cannot be served.
   */
  start(host: ExtensionHost): ExtensionAnswer;
}

/** The HTTP handler that an extension is part of. */
export interface ExtensionHost {
  /** Router of all services, without interceptors. */
  readonly router: Router<never>;
  readonly limits: Limits;
  /** Prefix of all paths of the handler; "" for none. */
  readonly prefix: string;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
}

/**
 * Answers requests to the path of an extension. Pages and clients without permission were refused before. If it throws
 * an `RpcError`, the error is sent as JSON; any other exception is sent as `internal`.
 */
export type ExtensionAnswer = (request: ExtensionRequest) => Promise<Response>;

/** A request to an extension, which has arrived completely. */
export interface ExtensionRequest {
  /** The request without its body. Its signal is aborted when the client disconnects. */
  readonly request: Request;
  /**
   * Parses the request's body as JSON. Throws `RpcError` for invalid JSON, or for more values than fit into the
   * client's memory limit.
   */
  json(): unknown;
  /**
   * Makes a call to the same handler. The call is admitted, authenticated and intercepted as if the client had sent it.
   */
  readonly call: (request: Request) => Promise<Response>;
}
