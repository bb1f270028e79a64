import type { Interceptor, Limits, Router, ServerLoad } from "@quicrpc/core";
import type { UploadStore } from "@quicrpc/blobs";
import type {
  AllowedOrigins,
  UnauthenticatedPeer,
  ErrorHook,
  LoadShedder,
  OnceOptions,
  PrincipalOf,
} from "@quicrpc/core/internal";
import type { HttpListener } from "./http-requests.js";

/** HTTP options that `serve` does not have itself. See `createFetchHandler` of `@quicrpc/http`. */
export interface HttpOptions {
  /** Prefix of the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /**
   * Serves an OpenAPI document at `/openapi.json`, below `prefix`, to clients that may call
   * `quicrpc.v1.Reflection/describe`: `authenticate` and the interceptors decide as for such a call. Default: none.
   */
  readonly openApi?: boolean | object;
  /**
   * Also serves HTTP/3 on UDP ports, and announces it to clients over TCP (`Alt-Svc`). Requires the native engine.
   * Default: true.
   */
  readonly http3?: boolean;
  /** Minimum size in bytes of messages to compress for clients that support it. Default: 1024. */
  readonly compressFrom?: number;
  /**
   * Maximum time in milliseconds for the only message of a request to arrive, and for each piece of an upload. Default:
   * 60,000.
   */
  readonly maxBodyMs?: number;
  /**
   * Storage for blobs that wait for their calls, for example `fileUploads(folder)`. Default: the memory of the process,
   * with `limits.maxSessionBytes` for each.
   */
  readonly uploads?: UploadStore;
  /** Milliseconds that an upload waits for more bytes, or for its call. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}

/** The parts of an HTTP request that describe its peer. */
export interface HttpCaller {
  readonly headers: Headers;
  /** Path and query. */
  readonly path: string;
  readonly request: unknown;
}

/** Settings of a server that also apply to its services over HTTP. */
export interface HttpSettings<Context> {
  readonly routers: readonly Router<Context>[];
  readonly interceptors: readonly Interceptor[] | undefined;
  readonly extensions: readonly object[];
  readonly limits: Partial<Limits> | undefined;
  readonly load: ServerLoad;
  readonly loadShedder: LoadShedder | undefined;
  readonly onError: ErrorHook;
  readonly allowedOrigins: AllowedOrigins | undefined;
  readonly allowedHosts: readonly string[] | undefined;
  readonly once: OnceOptions<Context> | undefined;
  readonly principal: PrincipalOf<Context> | undefined;
  readonly host: { readonly optionsOf: string; readonly addressOf: (request: unknown) => string | undefined };
  readonly authentications: { run(peer: UnauthenticatedPeer<HttpCaller>): Promise<Context> } | undefined;
}

/** The part of `@quicrpc/http` used here. */
interface HttpPackage {
  readonly createFetchHandler: (options: object) => unknown;
  readonly toNodeHandler: (handler: unknown) => HttpListener;
}

/** The name is a variable, so that bundlers do not include the package unless it is used. */
const PACKAGE = "@quicrpc/http";

/** Returns a listener for a server's services over HTTP. Rejects with `TypeError` if the package is not installed. */
export async function httpListener<Context>(
  httpOptions: HttpOptions,
  settings: HttpSettings<Context>,
): Promise<HttpListener> {
  const { createFetchHandler, toNodeHandler } = await load();
  // The listeners decide which requests arrive.
  const { http3: _, ...options } = httpOptions;
  return toNodeHandler(createFetchHandler({ ...options, ...settings }));
}

async function load(): Promise<HttpPackage> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE)) as HttpPackage;
  } catch (cause) {
    throw new TypeError(
      `serve({ http: true }) requires ${PACKAGE}: npm install ${PACKAGE}. A bundled server must pass the handler: http: toNodeHandler(createFetchHandler({ routers }))`,
      { cause },
    );
  }
}
