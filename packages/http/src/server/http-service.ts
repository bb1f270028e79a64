import { interceptRouter, type Limits, RpcError, ServerLoad } from "@quicrpc/core";
import {
  Admission,
  Authentications,
  completeLimits,
  errorHook,
  onceSettings,
  type ErrorHook,
  fullName,
  guardedShedder,
  type IncomingContext,
  LinkedSet,
  OverloadGuard,
  permit,
  serveRequest,
} from "@quicrpc/core/internal";
import { callerOf, type CallerSettings, contextOf, networkKeyOf, requestAddressOf } from "./caller.js";
import { describeBehind, OpenApiPage } from "./open-api-page.js";
import { type HttpExchange, splitTarget } from "./exchange.js";
import type { ExtensionAnswer, ExtensionHost, ExtensionRequest, HttpExtension } from "./extension.js";
import { answerWith, canBeRequest, WholeRequest } from "./extension-exchange.js";
import { FetchExchange } from "./fetch-exchange.js";
import type { HttpCall } from "./http-call.js";
import { HttpServerRequest, type SharedSettings } from "./http-request.js";
import type { HttpServiceOptions } from "./http-options.js";
import { PageAccess } from "./page-access.js";
import type { HttpProtocol, ProtocolRoutes } from "./protocol.js";
import { RequestReader, usualReading } from "./request-reader.js";
import { RequestAuthentication } from "./request-authentication.js";
import { RequestsInProgress } from "./requests-in-progress.js";
import { type Bound, type Match, Routes } from "./routes.js";
import { Shares } from "./shares.js";
import { type BlobTarget, HttpBlobs } from "./blobs/http-blobs.js";
import { answerFailure, UploadProblem } from "./blobs/problem.js";
import { createRouter, defineMethod, combineRouters } from "@quicrpc/core/generated";
import { HTTP_SERVICE } from "../protocol/ping.js";

const DEFAULT_COMPRESS_FROM = 1024;
/** Full name of the method that describes services. Clients that may call it may read the OpenAPI document. */
const DESCRIBE = "quicrpc.v1.Reflection/describe";

/**
 * Serves calls that arrive as HTTP requests. Each request has its own admission, memory limit, deadline and
 * interceptors, like a call of a session.
 */
export class HttpService<Context> {
  readonly load: ServerLoad;
  private readonly options: HttpServiceOptions<Context>;
  private readonly limits: Limits;
  private readonly onError: ErrorHook;
  private readonly admission: Admission;
  /** Admission for pings, which do not wait behind calls. */
  private readonly ownAdmission: Admission;
  private readonly routes: Routes<Context>;
  private readonly shared: SharedSettings;
  private readonly authentication: RequestAuthentication<Context> | undefined;
  private readonly guard: OverloadGuard | undefined;
  private readonly requests: RequestsInProgress;
  private readonly pages: PageAccess;
  private readonly document: OpenApiPage | undefined;
  private readonly describing: Bound<Context>;
  private readonly extensions: ReadonlyMap<string, ExtensionAnswer>;
  private readonly protocols: readonly ProtocolRoutes[];
  private readonly callers: CallerSettings;
  private draining = false;

  constructor(options: HttpServiceOptions<Context>) {
    const { routers, interceptors = [], loadShedding, prefix = "", compressFrom = DEFAULT_COMPRESS_FROM } = options;
    const { openApi = false, extensions = [], authenticate } = options;
    this.options = options;
    const limits = completeLimits(options.limits);
    const onError = errorHook(options.onError);
    const once = onceSettings(options.once);
    this.limits = limits;
    this.onError = onError;
    this.callers = { options, limits, once, onError };
    this.load = options.load ?? new ServerLoad(options.limits);
    this.requests = new RequestsInProgress(this.load, limits);
    const authentications =
      options.authentications ?? (authenticate && new Authentications({ authenticate, limits, onError }));
    this.authentication = authentications && new RequestAuthentication(authentications, options, limits, onError);
    const served = combineRouters([interceptRouter(combineRouters(routers), interceptors)]);
    const { methods } = served;
    const describing = methods.find(({ method }) => fullName(method) === DESCRIBE);
    this.describing = describing ?? describeBehind(interceptors);
    const isOpen = authentications === undefined && this.describing.authorize === undefined;
    this.routes = new Routes([...methods, ...OWN_METHODS], prefix, isOpen);
    const described = openApi === true ? {} : openApi;
    this.document = described === false ? undefined : new OpenApiPage(combineRouters(routers), prefix, described);
    const host: ExtensionHost = { router: combineRouters(routers), limits, prefix, onError };
    const wrong = extensions.findIndex(
      (each: Partial<HttpExtension & HttpProtocol> | null) =>
        typeof each?.start !== "function" && typeof each?.serve !== "function",
    );
    if (wrong !== -1) {
      const known = "mcp(), studio(), docsPage() or grpc()";
      throw new TypeError(`extensions[${wrong}] is not an extension: pass what ${known} returns`);
    }
    const find = (name: string): Bound<unknown> | undefined => this.routes.named(name) as Bound<unknown> | undefined;
    this.protocols = extensions.flatMap((each) => ("serve" in each ? [each.serve({ find })] : []));
    this.extensions = new Map(
      extensions.flatMap((each) => ("start" in each ? [[prefix + each.path, each.start(host)] as const] : [])),
    );
    this.pages = new PageAccess(options, onError);
    this.guard = loadShedding && new OverloadGuard(loadShedding);
    const loadShedder = this.guard ?? options.loadShedder;
    const counted = { limits, load: this.load, onError, onIdle: () => this.requests.progress() };
    this.admission = new Admission({
      ...counted,
      shares: new Shares(limits),
      loadShedder: loadShedder && guardedShedder(loadShedder, onError),
      isRefusing: () => this.draining,
    });
    const { uploads: store, maxUploadAgeMs: maxAgeMs, maxBodyMs } = options;
    const reading = usualReading(limits, maxBodyMs);
    const stored = { prefix, limits, load: this.load, store, maxAgeMs, idleMs: reading.timeoutMs };
    const blobs = new HttpBlobs(
      methods.map(({ method }) => method),
      stored,
    );
    const cacheControl = authentications && "private";
    const [calls, readers] = [new LinkedSet<HttpCall>(), new LinkedSet<RequestReader>()];
    this.shared = { compressFrom, cacheControl, calls, readers, reading, blobs, limits, once, served };
    this.ownAdmission = new Admission({ ...counted, loadShedder: undefined, isRefusing: () => this.draining });
  }

  get ready(): boolean {
    return !this.draining;
  }

  /**
   * Stops accepting calls. Resolves when the calls in progress have ended and their responses are sent. After
   * `timeoutMs` milliseconds, those that remain fail with `unavailable`.
   */
  async drain(timeoutMs: number = this.limits.maxDrainMs): Promise<void> {
    this.draining = true;
    const refusal = new RpcError("unavailable", "the server is being drained", { refused: true });
    for (const { value } of Array.from(this.shared.readers)) value.give(refusal);
    const { requests } = this;
    const isIdle = (): boolean => this.admission.calls === 0 && requests.none;
    if (!(await requests.reaches(isIdle, timeoutMs))) {
      for (const { value } of Array.from(this.shared.calls))
        value.abort(new RpcError("unavailable", "the server is being drained"));
      // This does not wait for handlers that continue after their calls have ended.
      await requests.reaches(() => requests.none, this.limits.maxCloseMs);
    }
    this.guard?.stop();
  }

  /** Returns true if a request target (path and query) belongs to a method, a page or an extension of this service. */
  owns(target: string): boolean {
    const { path } = splitTarget(target);
    const isCalled = this.routes.find(path) !== undefined || this.shared.blobs.match(path) !== undefined;
    if (isCalled || this.document?.path === path || this.extensions.has(path)) return true;
    return this.protocols.some((protocol) => protocol.owns(path));
  }

  /** Answers a request. Never throws. */
  handle(exchange: HttpExchange): void {
    this.attempt(exchange, () => this.answer(exchange));
  }

  /** Runs `answer`. If that fails, reports the error and cuts off the request, because no other code handles it. */
  private attempt(exchange: HttpExchange, answer: () => Promise<void> | undefined): void {
    const fail = (error: unknown): void => {
      this.errorHookFor(exchange)(error, { method: splitTarget(exchange.target).path });
      exchange.cutOff(new RpcError("internal", "the request could not be answered"));
    };
    try {
      answer()?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Answers a request. Returns a promise if that takes time, undefined otherwise. */
  private answer(exchange: HttpExchange): Promise<void> | undefined {
    const { path } = splitTarget(exchange.target);
    const blob = this.shared.blobs.match(path);
    if (!this.pages.admit(exchange, blob === undefined ? "GET, POST" : "GET, POST, PATCH, DELETE")) return undefined;
    if (this.document?.isAskedFor(exchange) === true) return this.describe(exchange, this.document);
    const extension = this.extensions.get(path);
    if (extension !== undefined && canBeRequest(exchange)) return this.extend(exchange, extension);
    return this.serve(exchange, blob);
  }

  /** Answers a request for a method, or for the blob `target`. */
  private serve(exchange: HttpExchange, target: BlobTarget | undefined): Promise<void> | undefined {
    if (target !== undefined) return this.transfer(exchange, target);
    for (const protocol of this.protocols) {
      const found = protocol.match(exchange);
      if (found !== undefined) return found === "answered" ? undefined : this.take(exchange, found);
    }
    const match = this.routes.match(exchange);
    return match && this.take(exchange, match as Match<unknown>);
  }

  /** Answers a request for a blob, which counts as a call in progress. */
  private async transfer(exchange: HttpExchange, target: BlobTarget): Promise<void> {
    if (exchange.isGone) return;
    const { method } = target;
    const { unsent } = this.requests.enter(exchange, (error) => exchange.cutOff(error));
    let leave: (() => void) | undefined;
    try {
      const connection = await this.authentication?.run(exchange, fullName(method));
      const { client, requester } = callerOf(this.callers, exchange, method, connection);
      this.admission.requireRoom(client);
      leave = this.admission.attach(client);
      const bound = this.routes.named(fullName(method));
      const authorize = (): Promise<void> => this.authorize(bound, exchange, connection);
      await this.shared.blobs.answer(exchange, target, requester(), unsent, authorize);
    } catch (error) {
      this.refuse(exchange, error, fullName(method), { "cache-control": "no-store" });
    } finally {
      leave?.();
    }
  }

  private async extend(exchange: HttpExchange, answer: ExtensionAnswer): Promise<void> {
    if (exchange.isGone) return;
    let whole: WholeRequest | undefined;
    const { budget, unsent } = this.requests.enter(exchange, (error, request) => {
      reader.give(error);
      whole?.abort(error);
      if (request.unsent.some) exchange.cutOff(error);
    });
    const { reading, readers } = this.shared;
    const client = networkKeyOf(requestAddressOf(exchange, this.options));
    const reader = new RequestReader(exchange, budget, reading, readers, client);
    try {
      await this.authentication?.run(exchange, DESCRIBE);
      this.admission.requireRoom();
      whole = new WholeRequest(exchange, await reader.read("unary", undefined), budget, this.callFor(exchange));
      const request = whole;
      exchange.onGone = () => request.abort(new RpcError("cancelled", "the caller is gone"));
      await answerWith(exchange, await answer(request), unsent);
    } catch (error) {
      if (!reader.gone) this.refuse(exchange, error, splitTarget(exchange.target).path);
    } finally {
      whole?.release();
    }
  }

  /** Returns the function with which an extension makes calls on behalf of its client. */
  private callFor({ peer }: HttpExchange): ExtensionRequest["call"] {
    return (request) => {
      const exchange = new FetchExchange(request, peer);
      this.attempt(exchange, () => this.serve(exchange, this.shared.blobs.match(splitTarget(exchange.target).path)));
      return exchange.response;
    };
  }

  /** Sends an error response to a request that is not a call. */
  private refuse(
    exchange: HttpExchange,
    error: unknown,
    site: string,
    fields: Readonly<Record<string, string>> = {},
  ): void {
    const isExpected = error instanceof RpcError || error instanceof UploadProblem;
    if (!isExpected) this.errorHookFor(exchange)(error, { method: site });
    answerFailure(exchange, error, fields);
  }

  /**
   * Runs a method's interceptors for a request that is not a call. Rejects with the error for the client if one of them
   * refuses.
   */
  private async authorize(
    bound: Bound<Context> | undefined,
    exchange: HttpExchange,
    connection: unknown,
  ): Promise<void> {
    if (bound?.authorize === undefined) return;
    const settings = { ...this.callers, onError: this.errorHookFor(exchange) };
    const context = contextOf(settings, exchange, bound.method, connection) as IncomingContext<Context>;
    exchange.onGone = () => context.abort(new RpcError("cancelled", "the caller is gone"));
    try {
      await permit(bound, context);
    } finally {
      exchange.onGone = undefined;
    }
  }

  private async describe(exchange: HttpExchange, document: OpenApiPage): Promise<void> {
    if (exchange.isGone) return;
    const { unsent } = this.requests.enter(exchange, (error) => exchange.cutOff(error));
    try {
      const connection = await this.authentication?.run(exchange, DESCRIBE);
      await this.authorize(this.describing, exchange, connection);
      if (exchange.isGone) return;
      await document.answer(exchange, unsent);
    } catch (error) {
      this.refuse(exchange, error, DESCRIBE);
    }
  }

  /**
   * Authenticates the client of a request for a method, and then lets `serve` read the rest of it. Both happen within
   * the call's deadline.
   */
  private async take(exchange: HttpExchange, match: Match<unknown>): Promise<void> {
    if (exchange.isGone) return;
    const { method } = match.bound;
    const { authentication, shared } = this;
    const admission = OWN_METHODS.includes(match.bound) ? this.ownAdmission : this.admission;
    const entry = this.requests.enter(exchange, (error) => request.evict(error));
    const request = new HttpServerRequest(exchange, match, entry, admission, this.errorHookFor(exchange), shared);
    try {
      request.begin();
      const connection = authentication && (await authentication.run(exchange, fullName(method), request.timeoutMs));
      request.identify(connection, callerOf(this.callers, exchange, method, connection));
    } catch (error) {
      request.refuse(request.explain(error));
      return;
    }
    if (!exchange.isGone) await serveRequest(request);
  }

  private errorHookFor(exchange: HttpExchange): ErrorHook {
    return (error, site) => {
      const peer = requestAddressOf(exchange, this.options);
      this.onError(error, peer === undefined ? site : { peer, ...site });
    };
  }
}

const { methods } = createRouter({ ping: defineMethod(HTTP_SERVICE, "unary", "ping", { id: 1 }) }, { ping: () => {} });

/** Methods that every server has in addition to the application's methods. Interceptors do not apply to them. */
const OWN_METHODS: readonly Bound<unknown>[] = methods;
