import { interceptRouter, type Limits, type Metadata, RpcError, ServerLoad } from "@quicrpc/core";
import {
  Admission,
  Authentications,
  callBytes,
  combineRouters,
  completeLimits,
  decodeWithin,
  requireRoomToDecode,
  errorHook,
  type ErrorHook,
  fullName,
  guardedShedder,
  IncomingContext,
  inputFingerprint,
  LinkedSet,
  type OnceSettings,
  OverloadGuard,
  runNotification,
  streamsInput,
} from "@quicrpc/core/transport";
import { statusOf } from "../protocol/codes.js";
import { errorToJson, jsonBytes } from "../protocol/error-json.js";
import { readHeaders } from "../protocol/headers.js";
import { requireVersion, VERSION_HEADER } from "../protocol/version.js";
import { requestAddressOf, callerOf, type CallerSettings } from "./caller.js";
import { describeBehind, OpenApiPage } from "./open-api-page.js";
import { EventCall } from "./event-call.js";
import { type HttpExchange, splitTarget } from "./exchange.js";
import type { ExtensionAnswer, ExtensionHost, ExtensionRequest } from "./extension.js";
import { answerWith, canBeRequest, WholeRequest } from "./extension-exchange.js";
import { FetchExchange } from "./fetch-exchange.js";
import { type HttpCall, type HttpCallSettings, HttpRoute } from "./http-call.js";
import type { HttpServiceOptions } from "./http-options.js";
import { PageAccess } from "./page-access.js";
import { compressionsOf, positionOf, requestTimeoutOf } from "./request-head.js";
import { type ReadingLimits, RequestReader } from "./request-reader.js";
import { RequestAuthentication } from "./request-authentication.js";
import { nobody, RequestSettings } from "./request-settings.js";
import { RequestsInProgress } from "./requests-in-progress.js";
import { OWN_METHODS } from "./ping.js";
import { type Bound, type Framing, type Match, Routes } from "./routes.js";
import { Shares } from "./shares.js";
import { StreamCall } from "./stream-call.js";
import { UnaryCall } from "./unary-call.js";
import { type BlobTarget, HttpBlobs } from "./blobs/http-blobs.js";
import { answerFailure, UploadProblem } from "./blobs/problem.js";

const DEFAULT_COMPRESS_FROM = 1024;
const DEFAULT_BODY_MS = 60_000;
/** The method that describes services: clients that may call it may read their document. */
const DESCRIBE = "quicrpc.v1.Reflection/describe";

/**
 * Serves calls that arrive as HTTP requests, each with its own admission, memory limit, deadline and interceptors, like
 * the calls of a session.
 */
export class HttpService<Context> {
  readonly load: ServerLoad;
  private readonly options: HttpServiceOptions<Context>;
  private readonly once: OnceSettings | undefined;
  private readonly limits: Limits;
  private readonly onError: ErrorHook;
  private readonly admission: Admission;
  /** Admits pings, which do not wait behind calls. */
  private readonly ownAdmission: Admission;
  private readonly routes: Routes<Context>;
  private readonly shared: HttpCallSettings;
  private readonly calls: LinkedSet<HttpCall> = new LinkedSet();
  private readonly authentication: RequestAuthentication<Context> | undefined;
  private readonly guard: OverloadGuard | undefined;
  /** Readers of requests' messages. */
  private readonly readers: LinkedSet<RequestReader> = new LinkedSet();
  /** Limits of a request's message, if its deadline is not earlier. */
  private readonly usualReading: ReadingLimits;
  private readonly requests: RequestsInProgress;
  private readonly pages: PageAccess;
  private readonly document: OpenApiPage | undefined;
  /** Method whose callers may read the document. */
  private readonly describing: Bound<Context>;
  /** Handlers of extensions, by path. */
  private readonly extensions: ReadonlyMap<string, ExtensionAnswer>;
  private readonly blobs: HttpBlobs;
  private readonly callers: CallerSettings;
  private draining = false;

  constructor(options: HttpServiceOptions<Context>) {
    const { routers, interceptors = [], loadShedding, prefix = "", compressFrom = DEFAULT_COMPRESS_FROM } = options;
    const { openApi = false, extensions = [], authenticate } = options;
    this.options = options;
    const limits = completeLimits(options.limits);
    const onError = errorHook(options.onError);
    this.once = options.once && { options: options.once, since: Date.now() };
    this.limits = limits;
    this.usualReading = usualReading(limits, options.maxBodyMs);
    this.onError = onError;
    this.callers = { options, limits, once: this.once, onError };
    this.load = options.load ?? new ServerLoad(options.limits);
    this.requests = new RequestsInProgress(this.load, limits);
    const authentications =
      options.authentications ?? (authenticate && new Authentications({ authenticate, limits, onError }));
    this.authentication = authentications && new RequestAuthentication(authentications, options, limits, onError);
    const { methods } = combineRouters([interceptRouter(combineRouters(routers), interceptors)]);
    const describing = methods.find(({ method }) => fullName(method) === DESCRIBE);
    this.describing = describing ?? describeBehind(interceptors);
    const isOpen = authentications === undefined && this.describing.authorize === undefined;
    this.routes = new Routes([...methods, ...OWN_METHODS], prefix, isOpen);
    const described = openApi === true ? {} : openApi;
    this.document = described === false ? undefined : new OpenApiPage(combineRouters(routers), prefix, described);
    const host: ExtensionHost = { router: combineRouters(routers), limits, prefix, onError };
    this.extensions = new Map(extensions.map((extension) => [prefix + extension.path, extension.start(host)]));
    this.pages = new PageAccess(options, onError);
    this.guard = loadShedding && new OverloadGuard(loadShedding);
    const loadShedder = this.guard ?? options.loadShedder;
    this.shared = { compressFrom, cacheControl: authentications && "private", calls: this.calls };
    const counted = { limits, load: this.load, onError, onIdle: () => this.requests.progress() };
    this.admission = new Admission({
      ...counted,
      shares: new Shares(limits),
      loadShedder: loadShedder && guardedShedder(loadShedder, onError),
      isRefusing: () => this.draining,
    });
    const { uploads: store, maxUploadAgeMs: maxAgeMs, maxBodyMs: idleMs = DEFAULT_BODY_MS } = options;
    const stored = { prefix, limits, load: this.load, store, maxAgeMs, idleMs };
    this.blobs = new HttpBlobs(
      methods.map(({ method }) => method),
      stored,
    );
    this.ownAdmission = new Admission({ ...counted, loadShedder: undefined, isRefusing: () => this.draining });
  }

  /** Whether calls are accepted. */
  get ready(): boolean {
    return !this.draining;
  }

  /**
   * Stops accepting calls. Resolves when those in progress have ended and their responses are sent; after `timeoutMs`
   * they fail with `unavailable`.
   */
  async drain(timeoutMs: number = this.limits.maxDrainMs): Promise<void> {
    this.draining = true;
    const refusal = new RpcError("unavailable", "the server is being drained", { refused: true });
    for (const { value } of Array.from(this.readers)) value.give(refusal);
    const { requests } = this;
    const isIdle = (): boolean => this.admission.calls === 0 && requests.none;
    if (!(await requests.reaches(isIdle, timeoutMs))) {
      for (const { value } of Array.from(this.calls))
        value.abort(new RpcError("unavailable", "the server is being drained"));
      // Handlers that continue after their calls are not waited for.
      await requests.reaches(() => requests.none, this.limits.maxCloseMs);
    }
    this.guard?.stop();
  }

  /** Returns whether a target belongs to a method or a page of this service. */
  owns(target: string): boolean {
    const { path } = splitTarget(target);
    const isCalled = this.routes.find(path) !== undefined || this.blobs.match(target) !== undefined;
    return isCalled || this.document?.path === path || this.extensions.has(path);
  }

  /** Answers a request. Never throws. */
  handle(exchange: HttpExchange): void {
    this.attempt(exchange, () => this.answer(exchange));
  }

  /**
   * Answers a request. If that fails, the error is reported and the request cut off, because no other code handles it.
   */
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

  /** Answers a request. Returns a promise if that takes time. */
  private answer(exchange: HttpExchange): Promise<void> | undefined {
    const verbs = this.blobs.match(exchange.target) === undefined ? "GET, POST" : "GET, POST, PATCH, DELETE";
    if (!this.pages.admit(exchange, verbs)) return undefined;
    if (this.document?.isAskedFor(exchange) === true) return this.describe(exchange, this.document);
    const extension = canBeRequest(exchange) ? this.extensions.get(splitTarget(exchange.target).path) : undefined;
    return extension === undefined ? this.serve(exchange) : this.extend(exchange, extension);
  }

  /** Answers a request for a method. */
  private serve(exchange: HttpExchange): Promise<void> | undefined {
    const target = this.blobs.match(exchange.target);
    if (target !== undefined) return this.transfer(exchange, target);
    const match = this.routes.match(exchange);
    return match && this.take(exchange, match);
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
      await this.blobs.answer(exchange, target, requester(), unsent, authorize);
    } catch (error) {
      if (!isSaid(error)) this.errorHookFor(exchange)(error, { method: fullName(method) });
      answerFailure(exchange, error, { "cache-control": "no-store" });
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
    const reader = new RequestReader(exchange, budget, this.readingLimits(undefined), this.readers);
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

  /** Returns the function that makes calls on behalf of an exchange's client. */
  private callFor({ peer }: HttpExchange): ExtensionRequest["call"] {
    return (request) => {
      const exchange = new FetchExchange(request, peer);
      this.attempt(exchange, () => this.serve(exchange));
      return exchange.response;
    };
  }

  /** Answers with an error a request that is not a call. */
  private refuse(exchange: HttpExchange, error: unknown, site: string): void {
    if (!(error instanceof RpcError)) this.errorHookFor(exchange)(error, { method: site });
    const refusal = error instanceof RpcError ? error : new RpcError("internal", "the request could not be answered");
    const head = { status: statusOf(refusal.code), fields: { "content-type": "application/json" } };
    exchange.respond(head, jsonBytes(errorToJson(refusal)));
  }

  /**
   * Runs the interceptors of a method for a request that is not a call. Rejects with the client's error if one of them
   * refuses.
   */
  private async authorize(
    bound: Bound<Context> | undefined,
    exchange: HttpExchange,
    connection: unknown,
  ): Promise<void> {
    if (bound?.authorize === undefined) return;
    const { method } = bound;
    const onError = this.errorHookFor(exchange);
    const settings = { session: nobody, connection: connection as Context, limits: this.limits, onError };
    const context = new IncomingContext<Context>(method, undefined, () => readHeaders(exchange.headers), settings);
    exchange.onGone = () => context.abort(new RpcError("cancelled", "the caller is gone"));
    try {
      await bound.authorize(context);
    } catch (error) {
      if (error instanceof RpcError && !error.fromCall) throw error;
      onError(error, { method: fullName(method) });
      throw new RpcError("internal", "the server could not decide about the request");
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

  private async take(exchange: HttpExchange, match: Match<Context>): Promise<void> {
    if (exchange.isGone) return;
    const { limits, shared, authentication } = this;
    const { bound, framing, format, query } = match;
    const admission = OWN_METHODS.includes(bound as Bound<unknown>) ? this.ownAdmission : this.admission;
    const { method } = bound;
    const arrived = Date.now();
    let reader: RequestReader | undefined;
    let call: HttpCall | undefined;
    const { budget, unsent } = this.requests.enter(exchange, (error) => {
      if (call === undefined) reader?.give(error);
      else call.evict(error);
    });
    const settings = new RequestSettings(limits, this.errorHookFor(exchange), admission, budget, this.once);
    let served = bound as Match<unknown>["bound"];
    let route = new HttpRoute(exchange, method, format, compressionsOf(exchange, match), unsent);
    let input: unknown;
    let fingerprint: string | undefined;
    let bytes: number;
    let context: IncomingContext<unknown>;
    try {
      requireVersion(exchange.header(VERSION_HEADER));
      const timeoutMs = requestTimeoutOf(exchange, limits);
      settings.connection = authentication && (await authentication.run(exchange, fullName(method), timeoutMs));
      const { client, requester } = callerOf(this.callers, exchange, method, settings.connection);
      settings.client = client;
      admission.requireRoom(client);
      // Before anything is read: throws if the messages do not support this format.
      const blobs = method.blobs && this.blobs.of(method, requester());
      format.codecOf(method.output);
      const codec = blobs === undefined ? format.codecOf(method.input) : blobs.inputCodec(format);
      let size = 0;
      let decoded = 0;
      if (!streamsInput(method)) {
        reader = new RequestReader(exchange, budget, this.readingLimits(timeoutMs), this.readers);
        const message = await reader.read(framing, query);
        size = message.length;
        if (method.once !== undefined) fingerprint = inputFingerprint(`http-${format.name}`, message, 0, size);
        if (codec !== undefined) {
          requireRoomToDecode(budget, size);
          input = decodeWithin(budget, codec, message, 0, size);
          decoded = budget.decodedBytes;
        }
        if (blobs !== undefined) {
          input = await blobs.received(input);
          served = blobs.bound(served, admission, budget);
          route = new HttpRoute(exchange, method, blobs.answerFormat(format), route.accepts, unsent);
          exchange.added = { ...exchange.added, "cache-control": "no-store" };
        }
        // Other calls may have arrived meanwhile.
        admission.requireRoom(settings.client);
      }
      if (exchange.isGone) return;
      bytes = callBytes(budget, size, decoded);
      const remainingMs = timeoutMs === undefined ? undefined : timeoutMs - (Date.now() - arrived);
      const metadata = (): Metadata => readHeaders(exchange.headers);
      const from = positionOf(exchange, match);
      context = new IncomingContext<unknown>(method, remainingMs, metadata, settings, from);
      if (method.once !== undefined) context.keyedBy(fingerprint);
      if (method.kind !== "notify") call = newCall(framing, route, context, settings, bytes, shared);
    } catch (error) {
      if (reader?.gone === true) return;
      newCall(framing, route, undefined, settings, 0, shared).refuse(error);
      return;
    }
    if (call !== undefined) {
      call.serve(served, input);
      return;
    }
    runNotification(served, input, context, settings, bytes);
    newCall(framing, route, undefined, settings, 0, shared).accept();
  }

  private readingLimits(timeoutMs: number | undefined): ReadingLimits {
    const usual = this.usualReading;
    if (timeoutMs === undefined || timeoutMs > usual.timeoutMs) return usual;
    return { ...usual, timeoutMs, late: () => new RpcError("deadline_exceeded", "the deadline has passed") };
  }

  private errorHookFor(exchange: HttpExchange): ErrorHook {
    return (error, site) => {
      const peer = requestAddressOf(exchange, this.options);
      this.onError(error, peer === undefined ? site : { peer, ...site });
    };
  }
}

function usualReading(
  { maxFrameBytes: maxBytes, maxDecompressedBytes }: Limits,
  timeoutMs: number = DEFAULT_BODY_MS,
): ReadingLimits {
  const text = `the request's message did not arrive within ${timeoutMs} ms (maxBodyMs)`;
  return { maxBytes, maxDecompressedBytes, timeoutMs, late: () => new RpcError("deadline_exceeded", text) };
}

/** Returns whether an error is a normal response that need not be reported to the application. */
function isSaid(error: unknown): boolean {
  return error instanceof RpcError || error instanceof UploadProblem;
}

const CALLS = { unary: UnaryCall, stream: StreamCall, events: EventCall } as const;

function newCall(framing: Framing, ...args: ConstructorParameters<typeof HttpCall>): HttpCall {
  return new CALLS[framing](...args);
}
