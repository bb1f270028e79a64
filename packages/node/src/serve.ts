import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { inspect } from "node:util";
import { combineRouters } from "@quicrpc/core/generated";
import {
  Authentications,
  checkOptions,
  type CloseOptions,
  completeLimits,
  errorHook,
  type ErrorHook,
  flatOptions,
  onceSettings,
  OverloadGuard,
  PageGuard,
  type Unacknowledged,
} from "@quicrpc/core/internal";
import {
  DEFAULT_LIMITS,
  type Interceptor,
  interceptRouter,
  type Limits,
  type Router,
  sanitizeForLog,
  ServerLoad,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { SessionAcceptor } from "./session-acceptor.js";
import { runWhenProven } from "./early-data.js";
import { type ProvidedTarget, targetsOf } from "./listen/listen.js";
import type { ListenSettings, TlsUpdate } from "./listen/listener.js";
import { Listeners } from "./listen/listeners.js";
import { type HttpListener, HttpRequests } from "./listen/http-requests.js";
import { TrustedProxies } from "./listen/proxy-protocol.js";
import type { Peer } from "./peer.js";
import { SERVE_OPTIONS, type ServeOptions, type ServeSettings } from "./serve-options.js";
import { checkDrain, pacedDrain } from "./paced-drain.js";
import type { Server, ServerDrainOptions, ServerStats } from "./server.js";
import { trackHandle } from "./active-handles.js";
import { withKeepAlive } from "./transport/keep-alive.js";
import { SHARED_VARIABLE } from "./workers/messages.js";
import type { GroupShare } from "./workers/worker.js";
import { channel } from "node:diagnostics_channel";

/**
 * Serves `routers` at the URLs of `listen`, by default over QUIC on UDP port 4433. Resolves when it listens.
 *
 * Rejects with a `TransportError` when it cannot listen: its `code` is `EADDRINUSE` when the port is taken, and
 * `ERR_QUIC_INVALID_OPTION` when the certificate or key cannot be read. Rejects with `TypeError` for an unknown option, a
 * URL of another scheme, or two routers that collide.
 *
 * @example
 * const greeter = createGreeterRouter({ greet: ({ name }) => ({ text: `Hello, ${name}!` }) });
 * const server = await serve({ port: 4433, tls: await devCertificate(), routers: [greeter] });
 * drainOnSignal(server);
 */
export async function serve<Context = unknown>(options: ServeOptions<Context>): Promise<Server> {
  const note = trackHandle("server");
  checkOptions("serve()", options, SERVE_OPTIONS);
  if (options.routers === undefined) throw new TypeError("serve() needs routers: [createOrdersRouter(handlers)]");
  const settings: ServeSettings<Context> = flatOptions(options);
  const start = async (share?: GroupShare): Promise<Server> => {
    const server = new RpcServer(settings, share);
    await server.start();
    server.onEnd = note(server.urls.join(", "));
    return server;
  };
  if (options.workers !== undefined) {
    return announce(await (await import("./workers/serve-workers.js")).serveWorkers(settings, start));
  }
  if (process.env[SHARED_VARIABLE] === undefined) return announce(await start());
  return announce(await (await import("./workers/shared-worker.js")).serveShared(settings, start));
}

class RpcServer<Context> implements Server {
  private readonly options: ServeSettings<Context>;
  private readonly share: GroupShare | undefined;
  private readonly limits: Limits;
  private readonly guard: OverloadGuard | undefined;
  private readonly load: ServerLoad;
  private readonly onError: ErrorHook;
  private readonly authentications: Authentications<Peer, Context> | undefined;
  private readonly acceptor: SessionAcceptor<Context>;
  private readonly http: HttpRequests | undefined = undefined;
  private readonly listeners: Listeners;
  onEnd: (() => void) | undefined = undefined;
  private closing: Promise<Unacknowledged> | undefined = undefined;

  constructor(options: ServeSettings<Context>, share?: GroupShare) {
    this.share = share;
    this.options = options;
    this.load = new ServerLoad(options.limits);
    this.guard = options.loadShedding && new OverloadGuard(options.loadShedding);
    const router = combineRouters(options.routers);
    // The store remembers calls from now on. A call whose key is older may have run in a previous process.
    onceSettings(options.once);
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.onError = errorHook(options.onError);
    const { limits, onError } = this;
    const { authenticate, extensions = [], http = extensions.length > 0 } = options;
    if (extensions.length > 0 && (http === false || typeof http === "function")) {
      throw new TypeError("serve() has extensions only with its own handler for HTTP: pass them to createFetchHandler");
    }
    this.authentications = authenticate && new Authentications({ authenticate, limits, onError });
    this.acceptor = this.acceptorFor(router);
    if (http !== false) {
      const isReady = (): boolean => !this.acceptor.draining;
      this.http = new HttpRequests(isReady, typeof http !== "object" || http.http3 !== false);
    }
    const settings = this.settingsFor(router);
    this.listeners = new Listeners(settings, share, (incoming) => void this.acceptor.accept(incoming));
  }

  private acceptorFor(router: Router<Context>): SessionAcceptor<Context> {
    const { options, guard, load, limits, onError, authentications } = this;
    const { interceptors = [], earlyData } = options;
    const routersAfter = (first: readonly Interceptor[]): readonly Router<Context>[] => [
      combineRouters([interceptRouter(router, [...first, ...interceptors])]),
    ];
    const sessionOptions: SessionOptions<Context> = {
      ...options,
      ...(guard !== undefined && { loadShedder: guard }),
      ...(options.limits !== undefined && { limits: completeLimits(options.limits) }),
      load,
      routers: routersAfter([]),
    };
    const earlyRouters = earlyData === true ? routersAfter([runWhenProven]) : undefined;
    return new SessionAcceptor({ options, limits, onError, authentications, sessionOptions, earlyRouters });
  }

  private settingsFor(router: Router<Context>): ListenSettings {
    const { options, share, limits, onError, http } = this;
    const { tls, secret, connectionIds, clientCertificates, allowedOrigins, allowedHosts, earlyData = false } = options;
    const { webSocket = false, transports = [] } = options;
    return {
      tls,
      secret,
      connectionIds,
      clientCertificates,
      pages: new PageGuard({ allowedOrigins, allowedHosts, onError, optionsOf: "serve", warn }),
      transport: withKeepAlive(options.transport, options.keepAlive),
      trustedProxies: options.trustedProxies && new TrustedProxies(options.trustedProxies),
      earlyData,
      limits,
      onError,
      web: { webSocket, http, protocols: transports.flatMap(({ webProtocol }) => webProtocol ?? []) },
      methods: router.methods.map(({ method }) => method),
      ticketKeys: share === undefined ? [] : [share.ticketKey],
      engineOptional: options.engine === "optional",
    };
  }

  get sessions(): Set<Session> {
    return this.acceptor.sessions;
  }

  get urls(): readonly string[] {
    return this.listeners.urls;
  }

  get address(): { readonly host: string; readonly port: number } {
    return this.listeners.address;
  }

  async start(): Promise<void> {
    const targets = targetsOf(this.options, this.share?.passed);
    this.listeners.check(targets);
    warnOfExpiry(this.options.tls);
    if (this.http !== undefined) this.http.listener = await this.httpListener(this.http, targets);
    try {
      await this.listeners.start(targets);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Creates the listener for plain HTTP: the application's own, or one from this server's options. */
  private async httpListener(requests: HttpRequests, targets: readonly ProvidedTarget[]): Promise<HttpListener> {
    const { options, authentications, load, onError } = this;
    const { http, routers, interceptors, extensions = [], limits, allowedOrigins, once, principal } = options;
    if (typeof http === "function") return http;
    const { httpListener } = await import("./listen/http-package.js");
    const shared = { routers, interceptors, extensions, limits, load, onError, allowedOrigins, once, principal };
    const named = targets.flatMap(({ host }) => (host === undefined || isIP(host) !== 0 ? [] : [host]));
    const allowedHosts = named.length === 0 ? options.allowedHosts : [...(options.allowedHosts ?? []), ...named];
    return httpListener<Context>(typeof http === "object" ? http : {}, {
      ...shared,
      allowedHosts,
      host: { optionsOf: "serve", addressOf: (request) => requests.addressOf(request) },
      loadShedder: this.guard ?? options.loadShedder,
      authentications: authentications && {
        run: ({ peer, ...attempt }) => authentications.run({ ...attempt, peer: requests.peerOf(peer) }),
      },
    });
  }

  async drain(options: ServerDrainOptions = {}): Promise<Unacknowledged> {
    checkDrain(options);
    this.acceptor.draining = true;
    this.load.end();
    this.listeners.stop();
    const { timeoutMs = this.limits.maxDrainMs } = options;
    let timer: NodeJS.Timeout | undefined;
    // Starts before the sessions are drained, because draining may use all of the time.
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(timeoutMs, this.limits.maxTimeoutMs));
    });
    const httpDrain = this.http?.listener?.drain?.({ timeoutMs }).catch((error: unknown) => {
      this.onError(error, { method: "http.drain" });
    });
    const ends = await pacedDrain(this.sessions, { ...options, timeoutMs });
    await httpDrain;
    // Handlers of sessions that have ended before.
    await Promise.race([this.load.idle, deadline]);
    clearTimeout(timer);
    return total([...ends, await this.close()]);
  }

  updateTls(update: TlsUpdate): void {
    if (this.closing !== undefined) throw new TypeError("the server is closed");
    this.listeners.updateTls(update);
  }

  close(options?: CloseOptions): Promise<Unacknowledged> {
    this.acceptor.draining = true;
    this.load.end();
    this.closing ??= this.end(options);
    return this.closing;
  }

  stats(): ServerStats {
    this.load.measure();
    const { handlers, outliving, held: heldBytes } = this.load;
    return {
      sessions: this.sessions.size,
      authentications: this.authentications?.running ?? 0,
      handlers,
      outlivingHandlers: outliving,
      heldBytes,
    };
  }

  ref(): void {
    this.listeners.ref();
  }

  unref(): void {
    this.listeners.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  toJSON(): object {
    return { urls: this.urls, ...this.stats() };
  }

  /** Returns the value for `console.log`, without the options, which contain the private key. */
  [inspect.custom](): object {
    return this.toJSON();
  }

  private async end(options: CloseOptions = {}): Promise<Unacknowledged> {
    const { closeCode = 0, reason = "" } = options;
    const info = { closeCode, reason };
    this.listeners.stop();
    this.acceptor.end(info);
    const ends = await Promise.all(Array.from(this.sessions, (session) => session.close(options)));
    await this.listeners.close(info);
    this.guard?.stop();
    this.onEnd?.();
    return total(ends);
  }
}

function total(ends: readonly Unacknowledged[]): Unacknowledged {
  return { unacknowledged: ends.reduce((sum, { unacknowledged }) => sum + unacknowledged, 0) };
}

/** Prints warnings about certificates that clients will not accept, for example because they have expired. */
function warnOfExpiry(tls: ServeOptions["tls"]): void {
  for (const { cert } of [tls ?? []].flat()) {
    let read: X509Certificate;
    try {
      read = new X509Certificate(cert);
    } catch {
      continue;
    }
    if (Date.parse(read.validTo) >= Date.now()) continue;
    const text = `the certificate of ${sanitizeForLog(read.subject ?? "serve()")} has expired on ${read.validTo}: clients will refuse it; renew it`;
    process.emitWarning(text, { code: "QUICRPC_CERTIFICATE_EXPIRED" });
  }
}

function warn(text: string): void {
  process.emitWarning(text, { code: "QUICRPC_PAGE_REFUSED" });
}

/** Diagnostics channel (`node:diagnostics_channel`) that receives each `Server` of this process once it listens. */
const serving = channel("quicrpc:serving");

/** Publishes a server on the diagnostics channel, for example for `quicrpc dev`. Returns the server. */
function announce(server: Server): Server {
  serving.publish(server);
  return server;
}
