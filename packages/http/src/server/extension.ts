import type { Limits, Router } from "@quicrpc/core";

/** Something that is served beside the methods, at a path of its own: such as `mcp()` of `@quicrpc/mcp`. */
export interface HttpExtension {
  /** Its path, such as "/mcp"; the handler's prefix comes before it. */
  readonly path: string;
  /** Begins to serve: each handler calls it once, before its first request. Throws `TypeError` for what cannot be served. */
  start(host: ExtensionHost): ExtensionAnswer;
}

/** The handler that an extension belongs to. */
export interface ExtensionHost {
  /** The services, without interceptors. */
  readonly router: Router<never>;
  readonly limits: Limits;
  /** Before all paths; "" for none. */
  readonly prefix: string;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
}

/**
 * Answers requests of a path. Pages and clients that may not call have been refused by then. What it throws is the answer: an `RpcError` as
 * its JSON, anything else as `internal`.
 */
export type ExtensionAnswer = (given: ExtensionRequest) => Promise<Response>;

/** A request that has arrived whole. */
export interface ExtensionRequest {
  /** The request without its body; its signal fires when the client is gone. */
  readonly request: Request;
  /** Parses the body. Throws `RpcError` for what is no JSON, or of more values than the client has memory for. */
  json(): unknown;
  /** Makes a call to the same handler, which is admitted, authenticated and intercepted as if the client had sent it. */
  readonly call: (request: Request) => Promise<Response>;
}
