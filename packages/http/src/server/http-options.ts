import type { Interceptor, Limits, Router, ServerLoad } from "@quicrpc/core";
import type { UploadStore } from "@quicrpc/blobs";
import type {
  AllowedOrigins,
  Authentications,
  Awaitable,
  ErrorHook,
  LoadShedder,
  LoadSheddingOptions,
  OnceOptions,
  PrincipalOf,
} from "@quicrpc/core/internal";
import type { OpenApiOptions } from "../openapi/source.js";
import type { HttpExtension } from "./extension.js";
import type { HttpProtocol } from "./protocol.js";

/** The client of a call over HTTP; the option `authenticate` receives it. */
export interface HttpPeer {
  readonly headers: Headers;
  /** Path and query of the request. */
  readonly path: string;
  /** Address of the client; undefined if the server does not report it. */
  readonly address: string | undefined;
  /** The called method, as "service/method". */
  readonly method: string;
  /** The platform's request object: a `Request`, or a request of `node:http`. */
  readonly request: unknown;
}

/** The server that serves HTTP in addition to other transports. */
interface HttpHost {
  /** Name of the function whose options configure the server, for error messages: "serve". */
  readonly optionsOf: string;
  /**
   * Returns the address of the client that has sent a request. The server knows it if a proxy has forwarded the
   * connection.
   */
  readonly addressOf: (request: unknown) => string | undefined;
}

/** Options of a service that answers calls over HTTP. */
export interface HttpServiceOptions<Context = unknown> {
  /** Handlers of the services. */
  readonly routers: readonly Router<Context>[];
  /** Interceptors of each call; the first is the outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Decides, for each request and within `limits.maxHandshakeMs`, whether the client may call; handlers find its result
   * as `context.connection`. A thrown `RpcError` is the response. The signal fires when the decision is no longer
   * needed. Default: every client may call.
   */
  readonly authenticate?: (peer: HttpPeer, signal: AbortSignal) => Awaitable<Context>;
  /** Authentications shared with a server for other transports, in place of `authenticate`. Default: none. */
  readonly authentications?: Pick<Authentications<HttpPeer, Context>, "run">;
  /**
   * Limits, as for `serve`. Each request counts as a session, whose memory `maxSessionBytes` bounds. `maxCalls` bounds
   * the calls of all clients together, and `maxPrincipalCalls` the calls of one client. Default: `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits>;
  /**
   * How calls of `once` methods are remembered, as for `serve`, with which it may share one object. Default: in memory,
   * by each router.
   */
  readonly once?: OnceOptions<Context>;
  /** Refuses calls, so that they can be repeated elsewhere, rather than serving them late. Default: none. */
  readonly loadShedding?: LoadSheddingOptions;
  /** Refuses calls under load by the application's own rules, as for `createSession`. Default: none. */
  readonly loadShedder?: LoadShedder;
  /** Load shared with a server for other transports. Default: a separate one. */
  readonly load?: ServerLoad;
  /** The server around it, such as `serve` of `@quicrpc/node`, for messages to its users. Default: none. */
  readonly host?: HttpHost;
  /** Called with failures that the caller does not receive in full, as for `serve`. Default: `console.error`. */
  readonly onError?: ErrorHook;
  /**
   * Origins of pages of other hosts that may call: a list, or a test. Pages of the host that a request names, and
   * programs, always may. Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Names under which clients reach this server without TLS. IP addresses, `localhost` and the hosts of
   * `allowedOrigins` need not be listed. Any page can make its own name resolve to this server (DNS rebinding). So if
   * this option is set, or the server listens at a loopback address, all requests for another name are refused;
   * otherwise only requests of pages without TLS are. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /** Prefix of the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /** Minimum bytes of messages that are compressed for clients that support it, Infinity for never. Default: 1024. */
  readonly compressFrom?: number;
  /**
   * Serves an OpenAPI 3.1 document of the services at `/openapi.json`, below `prefix`, to clients that may call
   * `quicrpc.v1.Reflection/describe`: `authenticate` and the interceptors decide as for such a call. Default: no
   * document.
   */
  readonly openApi?: boolean | OpenApiOptions;
  /**
   * Extensions: other protocols for the methods, such as `grpc()`, and pages next to the methods, each at its own path,
   * for clients that may call `quicrpc.v1.Reflection/describe`. Default: none.
   */
  readonly extensions?: readonly (HttpExtension | HttpProtocol)[];
  /** Maximum milliseconds until the only message of a request arrives, and each piece of an upload. Default: 60,000. */
  readonly maxBodyMs?: number;
  /** Returns the principal of a call and of its blobs, as for `serve`. Default: `connection`, if it is text. */
  readonly principal?: PrincipalOf<Context>;
  /**
   * Stores the bytes of blobs until their calls. Default: the memory of the process, with `limits.maxSessionBytes` for
   * each.
   */
  readonly uploads?: UploadStore;
  /** Milliseconds that an upload waits for more bytes, or for its call. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}
