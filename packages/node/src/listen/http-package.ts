import type { Interceptor, Limits, Router, ServerLoad } from "@quicrpc/core";
import type { OnceOptions } from "@quicrpc/core/once";
import type {
  AllowedOrigins,
  Applicant,
  ErrorHook,
  LoadShedder,
  PrincipalOf,
  UploadStore,
} from "@quicrpc/core/transport";
import type { HttpListener } from "./http-requests.js";

/** Options of the services over HTTP that `serve` has no word for; others are its own. See `createFetchHandler` of `@quicrpc/http`. */
export interface HttpOptions {
  /** Before the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /** Serves an OpenAPI document at `/openapi.json`. Default: none. */
  readonly openApi?: boolean | object;
  /** Served beside the methods, such as `mcp()` of `@quicrpc/mcp`. Default: none. */
  readonly extensions?: readonly object[];
  /**
   * Whether requests over HTTP/3 are taken on UDP ports too, and clients over TCP are told so (`Alt-Svc`). Needs the native engine. Default:
   * true.
   */
  readonly http3?: boolean;
  /** Bytes from which on messages are compressed for clients that can read that. Default: 1024. */
  readonly compressFrom?: number;
  /** Milliseconds that the only message of a request may take to arrive, and each piece of an upload. Default: 60,000. */
  readonly maxBodyMs?: number;
  /** Where the bytes of blobs wait for their calls: `fileUploads(folder)`, say. Default: the memory of the process, with `limits.maxSessionBytes` for each. */
  readonly uploads?: UploadStore;
  /** Milliseconds that an upload waits for more bytes, or for its call. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}

/** The part of a request over HTTP that its peer is made of. */
export interface HttpCaller {
  readonly headers: Headers;
  /** Path and query. */
  readonly path: string;
  readonly request: unknown;
}

/** Settings of a server that hold for its services over HTTP too. */
export interface HttpSettings<Context> {
  readonly routers: readonly Router<Context>[];
  readonly interceptors: readonly Interceptor[] | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly load: ServerLoad;
  readonly loadShedder: LoadShedder | undefined;
  readonly onError: ErrorHook;
  readonly allowedOrigins: AllowedOrigins | undefined;
  readonly allowedHosts: readonly string[] | undefined;
  readonly once: OnceOptions<Context> | undefined;
  readonly principal: PrincipalOf<Context> | undefined;
  readonly host: { readonly optionsOf: string; readonly addressOf: (request: unknown) => string | undefined };
  readonly authentications: { run(applicant: Applicant<HttpCaller>): Promise<Context> } | undefined;
}

/** The part of `@quicrpc/http` that is used here. */
interface HttpPackage {
  readonly createFetchHandler: (options: object) => unknown;
  readonly toNodeHandler: (handler: unknown) => HttpListener;
}

/** A name, so that bundlers leave out what nobody asked for. */
const PACKAGE = "@quicrpc/http";

/** Returns what answers requests for a server's services. Rejects with `TypeError` where the package is not installed. */
export async function httpListener<Context>(
  given: HttpOptions,
  settings: HttpSettings<Context>,
): Promise<HttpListener> {
  const { createFetchHandler, toNodeHandler } = await load();
  // Which requests arrive is the listeners' matter.
  const { http3: _, ...options } = given;
  return toNodeHandler(createFetchHandler({ ...settings, ...options }));
}

async function load(): Promise<HttpPackage> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ PACKAGE)) as HttpPackage;
  } catch (cause) {
    throw new TypeError(
      `serve({ http: true }) needs ${PACKAGE}: npm install ${PACKAGE}. A server in one file names it itself: http: toNodeHandler(createFetchHandler({ routers }))`,
      { cause },
    );
  }
}
