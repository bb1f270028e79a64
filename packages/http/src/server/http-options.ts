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
   * Returns the address of the client that has sent a request. If a proxy has forwarded the connection, only the server
   * knows the address.
   */
  readonly addressOf: (request: unknown) => string | undefined;
}

/** Options of a service that answers calls over HTTP. */
export interface HttpServiceOptions<Context = unknown> {
  /** Handlers of the services. */
  readonly routers: readonly Router<Context>[];
  /** Interceptors for each call; the first is the outermost. Default: none. */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Called for each request, to decide whether the client may call. It has `limits.maxHandshakeMs` milliseconds.
   * Handlers read its result from `context.connection`; an `RpcError` that it throws is the response. The signal is
   * aborted when the request has ended before the decision. Default: every client may call.
   */
  readonly authenticate?: (peer: HttpPeer, signal: AbortSignal) => Awaitable<Context>;
  /** Authentication shared with a server for other transports; replaces `authenticate`. Default: none. */
  readonly authentications?: Pick<Authentications<HttpPeer, Context>, "run">;
  /**
   * Limits, as for `serve`. Each request counts as a session, whose memory `maxSessionBytes` limits. `maxCalls` limits
   * the calls of all clients together, and `maxPrincipalCalls` the calls of one client. Default: `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits>;
  /**
   * How the results of calls of `once` methods are stored, as for `serve`; a server may share one object with it.
   * Default: each router stores them in memory.
   */
  readonly once?: OnceOptions<Context>;
  /**
   * Makes the server refuse calls that it could only serve late, so that clients can repeat them elsewhere. Default:
   * none.
   */
  readonly loadShedding?: LoadSheddingOptions;
  /** Makes the server refuse calls under load by the application's own rules, as for `createSession`. Default: none. */
  readonly loadShedder?: LoadShedder;
  /** Load and memory limits shared with a server for other transports. Default: a separate object. */
  readonly load?: ServerLoad;
  /**
   * The server that this service is part of, such as `serve` of `@quicrpc/node`; error messages refer to it. Default:
   * none.
   */
  readonly host?: HttpHost;
  /**
   * Called with each failure of which the caller does not receive all details, as for `serve`. Default:
   * `console.error`.
   */
  readonly onError?: ErrorHook;
  /**
   * Origins of web pages from other hosts that may call: a list, or a function that tests an origin. Pages from this
   * server's host and programs may always call. Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Host names under which clients reach this server without TLS; IP addresses, `localhost` and the hosts of
   * `allowedOrigins` need not be listed. The list protects against DNS rebinding, in which a page makes its own name resolve
   * to this server. If this option is set, or the server listens at a loopback address, requests for other names are
   * refused; otherwise only requests of pages without TLS are. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /** Prefix of the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /**
   * Minimum bytes of a message that is compressed for clients which support it; Infinity to compress none. Default:
   * 1024.
   */
  readonly compressFrom?: number;
  /**
   * True to serve an OpenAPI 3.1 document of the services at `/openapi.json`, below `prefix`; an object to set its
   * parts. Clients that may call `quicrpc.v1.Reflection/describe` may read it. Default: no document.
   */
  readonly openApi?: boolean | OpenApiOptions;
  /**
   * Other protocols for the methods, such as `grpc()`, and pages next to the methods at their own paths. Clients that
   * may call `quicrpc.v1.Reflection/describe` may use the pages. Default: none.
   */
  readonly extensions?: readonly (HttpExtension | HttpProtocol)[];
  /**
   * Maximum milliseconds until the message of a request with only one has arrived, and until each piece of an upload
   * has. Default: 60,000.
   */
  readonly maxBodyMs?: number;
  /**
   * Returns the principal to which a call and its blobs belong, as for `serve`. Default: `connection`, if it is a
   * string.
   */
  readonly principal?: PrincipalOf<Context>;
  /**
   * Stores uploaded blobs until the calls that use them. The default store keeps at most `limits.maxSessionBytes` bytes
   * of each. Default: the memory of the process.
   */
  readonly uploads?: UploadStore;
  /** Milliseconds for which an upload is kept while it waits for more bytes or for its call. Default: 3,600,000. */
  readonly maxUploadAgeMs?: number;
}
