import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { FetchExchange } from "./fetch-exchange.js";
import type { HttpServiceOptions } from "./http-options.js";
import { HttpService } from "./http-service.js";
import { DEFAULT_LIMITS } from "@quicrpc/core";

const HTTP_SERVICE_OPTIONS: OptionNames<HttpServiceOptions> = {
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  authentications: true,
  compressFrom: true,
  extensions: true,
  host: true,
  interceptors: true,
  limits: DEFAULT_LIMITS,
  load: true,
  loadShedder: true,
  loadShedding: true,
  maxBodyMs: true,
  maxUploadAgeMs: true,
  once: true,
  onError: true,
  openApi: true,
  prefix: true,
  principal: true,
  routers: true,
  uploads: true,
};

/** Information about a request that a `Request` does not contain. */
export interface RequestInfo {
  /** Address of the client, for errors and for `authenticate`. */
  readonly address?: string | undefined;
}

/** Answers `fetch` requests by calling services. */
export interface FetchHandler {
  /** Answers one request. Never rejects. */
  (request: Request, info?: RequestInfo): Promise<Response>;
  /** True while calls are accepted; false once `drain` has been called. */
  readonly ready: boolean;
  /**
   * Stops accepting calls. Resolves when the calls in progress have ended. After `timeoutMs` milliseconds (default:
   * `limits.maxDrainMs`), those that remain fail with `unavailable`.
   */
  readonly drain: (options?: { readonly timeoutMs?: number }) => Promise<void>;
}

type Service = Pick<HttpService<unknown>, "handle" | "owns">;

const services = new WeakMap<FetchHandler, Service>();

/**
 * Creates a function that serves `routers` over HTTP by the Connect protocol: it takes a `Request` and resolves to a
 * `Response`. It never rejects; errors are responses. Throws `TypeError` for an unknown option, and if two routers
 * collide.
 *
 * @example
 * const handler = createFetchHandler({ routers: [createArithRouter(handlers)] });
 * createServer(toNodeHandler(handler)).listen(8080); // of node:http
 * Deno.serve((request) => handler(request)); // or wherever there is a Request
 */
export function createFetchHandler<Context = unknown>(options: HttpServiceOptions<Context>): FetchHandler {
  checkOptions("createFetchHandler()", options, HTTP_SERVICE_OPTIONS);
  const service = new HttpService(options);
  const handle = (request: Request, info: RequestInfo = {}): Promise<Response> => {
    const exchange = new FetchExchange(request, info.address);
    service.handle(exchange);
    return exchange.response;
  };
  const handler: FetchHandler = Object.defineProperties(handle as FetchHandler, {
    ready: { get: () => service.ready },
    drain: { value: ({ timeoutMs }: { readonly timeoutMs?: number } = {}) => service.drain(timeoutMs) },
  });
  services.set(handler, service);
  return handler;
}

/** Returns the service behind a handler, for servers that do not use `fetch` requests. */
export function serviceBehind(handler: FetchHandler): Service {
  const service = services.get(handler);
  if (service === undefined) throw new TypeError("this handler is not by createFetchHandler()");
  return service;
}
