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

/** HTTP options of `serve` that are passed to `createFetchHandler` of `@quicrpc/http`. */
export interface ServeHttpOptions {
  /** Prefix of the URL paths of all methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /**
   * Serves an OpenAPI document at `/openapi.json`, below `prefix`. Only clients that may call
   * `quicrpc.v1.Reflection/describe` can read it: `authenticate` and the interceptors decide as for a call of that
   * method. Default: not served.
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
   * Maximum time in milliseconds for a request with a single message to arrive, and for each piece of an upload.
   * Default: 60,000.
   */
  readonly maxBodyMs?: number;
  /**
   * Store for uploaded blobs that no call has used yet, for example `fileUploads(folder)`. Default: the memory of the
   * process, with `limits.maxSessionBytes` for each upload.
   */
  readonly uploads?: UploadStore;
  /** Milliseconds without new bytes or a call that uses it after which an upload is removed. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}

/** The parts of an HTTP request that identify its client. */
export interface HttpCaller {
  readonly headers: Headers;
  /** Path and query of the request. */
  readonly path: string;
  readonly request: unknown;
}

/** Settings of a server that also apply to calls over HTTP. */
export interface HttpServerSettings<Context> {
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

/** The exports of `@quicrpc/http` that this package uses. */
interface HttpPackage {
  readonly createFetchHandler: (options: object) => unknown;
  readonly toNodeHandler: (handler: unknown) => HttpListener;
}

/**
 * Name of the HTTP package. A variable instead of a literal in `import()`, so that bundlers include the package only if
 * the application uses it.
 */
const PACKAGE = "@quicrpc/http";

/** Returns the HTTP listener for a server's routers. Rejects with `TypeError` if `@quicrpc/http` is not installed. */
export async function httpListener<Context>(
  httpOptions: ServeHttpOptions,
  settings: HttpServerSettings<Context>,
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
