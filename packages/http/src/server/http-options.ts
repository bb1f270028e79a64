import type { Interceptor, Limits, Router, ServerLoad } from "@quicrpc/core";
import type { OnceOptions } from "@quicrpc/core/once";
import type {
  AllowedOrigins,
  Authentications,
  Awaitable,
  ErrorHook,
  LoadShedder,
  LoadSheddingOptions,
  PrincipalOf,
  UploadStore,
} from "@quicrpc/core/transport";
import type { OpenApiOptions } from "../openapi/source.js";
import type { HttpExtension } from "./extension.js";

/** The client of a call over HTTP, by which `authenticate` decides. */
export interface HttpPeer {
  readonly headers: Headers;
  /** Path and query of the request. */
  readonly path: string;
  /** The client's address, where the server tells it. */
  readonly address: string | undefined;
  /** The method that is called, as "service/method". */
  readonly method: string;
  /** The request as the platform has it: a `Request`, or that of `node:http`. */
  readonly request: unknown;
}

/** A server that has services over HTTP beside others. */
interface HttpHost {
  /** The function that takes the options of both: "serve". */
  readonly optionsOf: string;
  /** Returns the address of a request's client, which the request itself does not know where a proxy has passed the connection on. */
  readonly addressOf: (request: unknown) => string | undefined;
}

/** Options of what serves calls over HTTP. */
export interface HttpServiceOptions<Context = unknown> {
  /** Handlers of the services. */
  readonly routers: readonly Router<Context>[];
  /** Around each call; the first is the outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Decides, for each request and within `limits.maxHandshakeMs`, who may call; handlers find its result as `context.connection`. An
   * `RpcError` that it throws is the answer. The signal fires when nobody waits for it any more. Default: everybody may.
   */
  readonly authenticate?: (peer: HttpPeer, signal: AbortSignal) => Awaitable<Context>;
  /** Authentications that are shared with a server for other transports, in place of `authenticate`. Default: none. */
  readonly authentications?: Pick<Authentications<HttpPeer, Context>, "run">;
  /**
   * Limits as of `serve`; each request is a session by itself, of which `maxSessionBytes` bounds the memory. `maxCalls` is the number of
   * calls of all clients, of which `maxPrincipalCalls` may be one client's. Default: `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits>;
  /** How calls of methods that are `once` are remembered, as of `serve`, with which it may share one object. Default: in memory, by each router. */
  readonly once?: OnceOptions<Context>;
  /** Refuses calls, as safe to make again elsewhere, rather than serving them late. Default: none. */
  readonly loadShedding?: LoadSheddingOptions;
  /** Refuses calls under load by rules of the application's own, as of `createSession`. Default: none. */
  readonly loadShedder?: LoadShedder;
  /** Shared with a server for other transports. Default: one of its own. */
  readonly load?: ServerLoad;
  /** The server around it, such as `serve` of `@quicrpc/node`, for what its users are told. Default: it stands alone. */
  readonly host?: HttpHost;
  /** Called with failures that the caller does not receive in full, as of `serve`. Default: `console.error`. */
  readonly onError?: ErrorHook;
  /**
   * Origins of pages of other hosts that may call: a list, or a test. Pages of the host that a request names, and programs, always may.
   * Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Names by which this server is reached without TLS. IP addresses, `localhost` and the hosts of `allowedOrigins` need
   * not be listed. The reason: any page can have a name of its own resolve to this server. Where this is given, or the
   * server listens at a loopback address, all requests for another name are refused; otherwise those of pages without
   * TLS. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /** Before the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /** Bytes from which on messages are compressed for clients that can read that, Infinity for never. Default: 1024. */
  readonly compressFrom?: number;
  /**
   * Serves an OpenAPI 3.1 document of the services at `/openapi.json`, to clients that may call `quicrpc.v1.Reflection/describe`:
   * `authenticate` and the interceptors decide as about such a call. Default: no document.
   */
  readonly openApi?: boolean | OpenApiOptions;
  /**
   * Served beside the methods, each at its path, to whoever `authenticate` takes for a caller of `quicrpc.v1.Reflection/describe`. Default:
   * none.
   */
  readonly extensions?: readonly HttpExtension[];
  /** Milliseconds that the only message of a request may take to arrive, and each piece of an upload. Default: 60,000. */
  readonly maxBodyMs?: number;
  /** Whose a call is, and the blobs that it sends: as of `serve`. Default: `connection`, where that is text. */
  readonly principal?: PrincipalOf<Context>;
  /** Where the bytes of blobs wait for their calls. Default: the memory of the process, with `limits.maxSessionBytes` for each. */
  readonly uploads?: UploadStore;
  /** Milliseconds that an upload waits for more bytes, or for its call. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}
