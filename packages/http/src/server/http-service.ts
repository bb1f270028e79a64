import {
  createCaller,
  type ErrorHook,
  type Interceptor,
  interceptRouter,
  type Limits,
  type Metadata,
  type Router,
  RpcError,
  ServerLoad,
  type TypedCaller,
} from "@quicrpc/core";
import {
  Admission,
  type AllowedOrigins,
  type Awaitable,
  callBytes,
  combineRouters,
  completeLimits,
  decodedBytes,
  decodeWithin,
  errorHook,
  fullName,
  guardedShedder,
  IncomingContext,
  type LoadShedder,
  MemoryBudget,
  type ServedCallSettings,
  streamsInput,
} from "@quicrpc/core/transport";
import { statusOf } from "../protocol/codes.js";
import { errorToJson, jsonBytes } from "../protocol/error-json.js";
import type { OpenApiOptions } from "../openapi/source.js";
import { readHeaders } from "../protocol/headers.js";
import { readTimeout, TIMEOUT_HEADER } from "../protocol/timeout.js";
import { OpenApiPage } from "./open-api-page.js";
import { EventCall } from "./event-call.js";
import { type HttpExchange, splitTarget } from "./exchange.js";
import type { ExtensionAnswer, ExtensionHost, ExtensionRequest, HttpExtension } from "./extension.js";
import { answerWith, WholeRequest } from "./extension-exchange.js";
import { FetchExchange } from "./fetch-exchange.js";
import type { HttpCall, HttpCallSettings } from "./http-call.js";
import { PageAccess } from "./page-access.js";
import { type ReadingLimits, RequestReader } from "./request-reader.js";
import { OWN_METHODS } from "./ping.js";
import { type Framing, type Match, Routes } from "./routes.js";
import { StreamCall } from "./stream-call.js";
import { UnaryCall } from "./unary-call.js";

/** Who makes a call over HTTP: what `authenticate` decides by. */
export interface HttpPeer {
  readonly headers: Headers;
  /** Path and query of the request. */
  readonly path: string;
  /** The client's address, where the server tells it. */
  readonly address: string | undefined;
  /** The method that is called, as "service/method". */
  readonly method: string;
}

/** Options of what serves calls over HTTP. */
export interface HttpServiceOptions<Context = unknown> {
  /** Handlers of the services. */
  readonly routers: readonly Router<Context>[];
  /** Around each call; the first is the outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Decides, for each request, who may call; handlers find its result as `context.connection`. An `RpcError` that it throws is the answer. */
  readonly authenticate?: (peer: HttpPeer) => Awaitable<Context>;
  /**
   * Limits as of `serve`; each request is a session by itself, of which `maxSessionBytes` bounds the memory. `maxCalls` is the number of
   * calls of all clients.
   */
  readonly limits?: Partial<Limits>;
  readonly loadShedder?: LoadShedder;
  /** Shared with a server for other transports. */
  readonly load?: ServerLoad;
  readonly onError?: ErrorHook;
  /**
   * Origins of pages of other hosts that may call: a list, or a test. Pages of the host that a request names, and programs, always may.
   * Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /** Before the paths of methods, such as "/api". Default: none. */
  readonly prefix?: string;
  /** Bytes from which on messages are compressed for clients that can read that, Infinity for never. Default: 1024. */
  readonly compressFrom?: number;
  /**
   * Serves an OpenAPI 3.1 document of the services at `/openapi.json`, to whoever `authenticate` takes for a caller of
   * `quicrpc.v1.Reflection/describe`. Default: no document.
   */
  readonly openApi?: boolean | OpenApiOptions;
  /**
   * Served beside the methods, each at its path, to whoever `authenticate` takes for a caller of `quicrpc.v1.Reflection/describe`. Default:
   * none.
   */
  readonly extensions?: readonly HttpExtension[];
  /** Milliseconds that the only message of a request may take to arrive. Default: 60,000. */
  readonly maxBodyMs?: number;
}

const DEFAULT_COMPRESS_FROM = 1024;
const DEFAULT_BODY_MS = 60_000;
/** The method that describes services: who may call it may read their document. */
const DESCRIBE = "quicrpc.v1.Reflection/describe";

/** Handlers that are called over HTTP have nobody to call back. */
const nobody: TypedCaller = createCaller(() => {
  throw new RpcError("unimplemented", "the caller came over HTTP and cannot be called back");
});

/** Serves calls that come as HTTP requests, each with its own admission, memory, deadline and interceptors, as a session's calls have. */
export class HttpService<Context> {
  readonly load: ServerLoad;
  private readonly options: HttpServiceOptions<Context>;
  private readonly limits: Limits;
  private readonly onError: ErrorHook;
  private readonly admission: Admission;
  private readonly routes: Routes<Context>;
  private readonly shared: HttpCallSettings;
  private readonly calls: Set<HttpCall> = new Set();
  private readonly pages: PageAccess;
  private readonly document: OpenApiPage | undefined;
  /** By their paths. */
  private readonly extensions: ReadonlyMap<string, ExtensionAnswer>;
  private draining = false;
  /** Told when no call is in progress. */
  private readonly idle: Set<() => void> = new Set();

  constructor(options: HttpServiceOptions<Context>) {
    const { routers, interceptors = [], loadShedder, prefix = "", compressFrom = DEFAULT_COMPRESS_FROM } = options;
    const { openApi = false, extensions = [] } = options;
    this.options = options;
    this.limits = completeLimits(options.limits);
    this.onError = errorHook(options.onError);
    this.load = options.load ?? new ServerLoad(options.limits);
    const { methods } = combineRouters([interceptRouter(combineRouters(routers), interceptors)]);
    this.routes = new Routes([...methods, ...OWN_METHODS], prefix);
    const described = openApi === true ? {} : openApi;
    this.document = described === false ? undefined : new OpenApiPage(combineRouters(routers), prefix, described);
    const host: ExtensionHost = {
      router: combineRouters(routers),
      limits: this.limits,
      prefix,
      onError: this.onError,
    };
    this.extensions = new Map(extensions.map((each) => [prefix + each.path, each.start(host)]));
    this.pages = new PageAccess(options.allowedOrigins, this.onError);
    this.shared = { compressFrom, calls: this.calls };
    this.admission = new Admission({
      limits: this.limits,
      loadShedder: loadShedder && guardedShedder(loadShedder, this.onError),
      load: this.load,
      onError: this.onError,
      isRefusing: () => this.draining,
      onIdle: () => this.idle.forEach((tell) => tell()),
    });
  }

  /** Whether calls are taken. */
  get ready(): boolean {
    return !this.draining;
  }

  /** Takes no more calls. Fulfils when those in progress are over; after `timeoutMs` they fail with `unavailable`. */
  async drain(timeoutMs: number = this.limits.maxDrainMs): Promise<void> {
    this.draining = true;
    if (this.admission.calls === 0) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(late);
        this.idle.delete(end);
        resolve();
      };
      const giveUp = (): void => {
        for (const call of this.calls) call.abort(new RpcError("unavailable", "the server is being drained"));
        // Handlers that run on keep nobody waiting.
        end();
      };
      const late = setTimeout(giveUp, Math.min(timeoutMs, this.limits.maxTimeoutMs));
      this.idle.add(end);
    });
  }

  /** Answers a request. Never throws. */
  handle(exchange: HttpExchange): void {
    if (!this.pages.admit(exchange)) return;
    if (this.document?.isAskedFor(exchange) === true) {
      void this.describe(exchange, this.document);
      return;
    }
    const extension = this.extensions.get(splitTarget(exchange.target).path);
    if (extension === undefined) this.serve(exchange);
    else void this.extend(exchange, extension);
  }

  /** Answers a request for a method. */
  private serve(exchange: HttpExchange): void {
    const match = this.routes.match(exchange);
    if (match !== undefined) void this.take(exchange, match);
  }

  private async extend(exchange: HttpExchange, answer: ExtensionAnswer): Promise<void> {
    const budget = new MemoryBudget(this.limits.maxSessionBytes, "limits.maxSessionBytes", this.load);
    const reader = new RequestReader(exchange, budget, this.readingLimits(undefined));
    let whole: WholeRequest | undefined;
    const leave = this.load.enter(budget, (error) => {
      reader.give(error);
      whole?.abort(error);
    });
    try {
      await this.authenticate(exchange, DESCRIBE);
      this.admission.requireRoom();
      whole = new WholeRequest(exchange, await reader.read("unary", undefined), budget, this.callFor(exchange));
      const given = whole;
      exchange.onGone = () => given.abort(new RpcError("cancelled", "the caller is gone"));
      await answerWith(exchange, await answer(given));
    } catch (error) {
      if (!reader.gone) this.refuse(exchange, error, splitTarget(exchange.target).path);
    } finally {
      whole?.release();
      leave();
    }
  }

  /** Returns what makes calls on behalf of the client that an exchange is with. */
  private callFor({ peer }: HttpExchange): ExtensionRequest["call"] {
    return (request) => {
      const exchange = new FetchExchange(request, peer);
      this.serve(exchange);
      return exchange.response;
    };
  }

  /** Answers with an error for what is no call. */
  private refuse(exchange: HttpExchange, error: unknown, site: string): void {
    if (!(error instanceof RpcError)) this.errorHookFor(exchange)(error, { method: site });
    const refusal = error instanceof RpcError ? error : new RpcError("internal", "the request could not be answered");
    const head = { status: statusOf(refusal.code), fields: { "content-type": "application/json" } };
    exchange.respond(head, jsonBytes(errorToJson(refusal)));
  }

  private async describe(exchange: HttpExchange, document: OpenApiPage): Promise<void> {
    try {
      await this.authenticate(exchange, DESCRIBE);
      await document.answer(exchange);
    } catch (error) {
      this.refuse(exchange, error, DESCRIBE);
    }
  }

  private async take(exchange: HttpExchange, match: Match<Context>): Promise<void> {
    const { limits, admission, shared } = this;
    const { bound, framing, format, query } = match;
    const { method } = bound;
    const budget = new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", this.load);
    const settings: ServedCallSettings = { limits, onError: this.errorHookFor(exchange), admission, budget };
    const route = { exchange, method, format, accepts: acceptedBy(exchange, match) };
    const arrived = Date.now();
    let reader: RequestReader | undefined;
    let call: HttpCall | undefined;
    const leave = this.load.enter(budget, (error) => {
      if (call === undefined) reader?.give(error);
      else call.abort(error);
    });
    let input: unknown;
    try {
      const timeoutMs = limited(readTimeout(exchange.header(TIMEOUT_HEADER)), limits.maxTimeoutMs);
      const connection = await this.authenticate(exchange, fullName(method));
      admission.requireRoom();
      // Before anything is read: throws where messages have no such form.
      format.codecOf(method.output);
      const codec = format.codecOf(method.input);
      let size = 0;
      let decoded = 0;
      if (!streamsInput(method)) {
        reader = new RequestReader(exchange, budget, this.readingLimits(timeoutMs));
        const message = await reader.read(framing, query);
        size = message.length;
        if (codec !== undefined) {
          input = decodeWithin(budget, codec, message, 0, size);
          decoded = decodedBytes();
        }
        // Others may have come meanwhile.
        admission.requireRoom();
      }
      if (exchange.isGone) {
        leave();
        return;
      }
      const bytes = callBytes(budget, size, decoded);
      const remainingMs = timeoutMs === undefined ? undefined : timeoutMs - (Date.now() - arrived);
      const contextSettings = { session: nobody, connection, limits };
      const metadata = (): Metadata => readHeaders(exchange.headers);
      const context = new IncomingContext<unknown>(method, remainingMs, metadata, contextSettings);
      call = newCall(framing, route, context, settings, bytes, shared);
    } catch (error) {
      leave();
      if (reader?.gone === true) return;
      newCall(framing, route, undefined, settings, 0, shared).refuse(error);
      return;
    }
    call.onOver = leave;
    call.serve(bound as Match<unknown>["bound"], input);
  }

  /** Throws the `RpcError` that the caller is told. */
  private async authenticate({ headers, target, peer }: HttpExchange, method: string): Promise<Context> {
    const { authenticate } = this.options;
    if (authenticate === undefined) return undefined as Context;
    try {
      return await authenticate({ headers, path: target, address: peer, method });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      this.onError(error, { method: "authenticate" });
      throw new RpcError("internal", "the server could not take the call");
    }
  }

  private readingLimits(timeoutMs: number | undefined): ReadingLimits {
    const { maxFrameBytes: maxBytes, maxDecompressedBytes } = this.limits;
    const { maxBodyMs = DEFAULT_BODY_MS } = this.options;
    const byDeadline = timeoutMs !== undefined && timeoutMs <= maxBodyMs;
    const text = byDeadline
      ? "the deadline has passed"
      : `the request's message did not arrive within ${maxBodyMs} ms (maxBodyMs)`;
    return {
      maxBytes,
      maxDecompressedBytes,
      timeoutMs: byDeadline ? timeoutMs : maxBodyMs,
      late: () => new RpcError("deadline_exceeded", text),
    };
  }

  private errorHookFor({ peer }: HttpExchange): ErrorHook {
    return peer === undefined ? this.onError : (error, site) => this.onError(error, { peer, ...site });
  }
}

function limited(timeoutMs: number | undefined, maxTimeoutMs: number): number | undefined {
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, maxTimeoutMs);
}

/** The names of the compressions that the client reads: where it does not say so, that of its request. */
function acceptedBy(
  exchange: HttpExchange,
  { framing, query }: Pick<Match<unknown>, "framing" | "query">,
): string | undefined {
  if (framing === "stream") {
    return exchange.header("connect-accept-encoding") ?? exchange.header("connect-content-encoding");
  }
  return exchange.header("accept-encoding") ?? query?.get("compression") ?? exchange.header("content-encoding");
}

const CALLS = { unary: UnaryCall, stream: StreamCall, events: EventCall } as const;

function newCall(framing: Framing, ...given: ConstructorParameters<typeof HttpCall>): HttpCall {
  return new CALLS[framing](...given);
}
