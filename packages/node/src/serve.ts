import { isIP } from "node:net";
import { inspect } from "node:util";
import {
  Authentications,
  checkOptions,
  type CloseOptions,
  combineRouters,
  completeLimits,
  createSession,
  errorHook,
  type ErrorHook,
  guarded,
  OnceService,
  OverloadGuard,
  PageGuard,
  refusalCode,
  type SessionEnd,
  type Unacknowledged,
} from "@quicrpc/core/transport";
import {
  DEFAULT_LIMITS,
  interceptRouter,
  type Limits,
  type Router,
  RpcError,
  ServerLoad,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { announce } from "./announce.js";
import { greetedPeer } from "./greeted-peer.js";
import { isEarly, runWhenProven } from "./early-data.js";
import { isOverUdp, isPassed, type ProvidedTarget, targetsOf, urlOf } from "./listen/listen.js";
import { type Arrival, type Listener, type ListenSettings, noRoom, type TlsUpdate } from "./listen/listener.js";
import { type HttpListener, HttpRequests } from "./listen/http-requests.js";
import { TrustedProxies } from "./listen/proxy-protocol.js";
import { addressOf, type Peer } from "./peer.js";
import { tellRefusal } from "./refusals.js";
import { SERVE_OPTIONS, type ServeOptions } from "./serve-options.js";
import { checkDrain, pacedDrain } from "./paced-drain.js";
import type { Server, ServerDrainOptions, ServerStats } from "./server.js";
import { limitAge } from "./session-age.js";
import { SessionCredentials } from "./session-credentials.js";
import { noteOpen } from "./still-open.js";
import { collectPayloadsYoung } from "./young-collections.js";
import { isMissingEngine, transportError } from "./transport/failure.js";
import { withKeepAlive } from "./transport/keep-alive.js";
import { requireListenable } from "./transport/refuse.js";
import { notifyReady } from "./listen/systemd.js";
import { SHARED_VARIABLE } from "./workers/messages.js";
import type { GroupShare } from "./workers/worker.js";

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
  const note = noteOpen("server");
  checkOptions("serve()", options, SERVE_OPTIONS);
  if (options.routers === undefined) throw new TypeError("serve() needs routers: [createOrdersRouter(handlers)]");
  collectPayloadsYoung();
  const start = async (share?: GroupShare): Promise<Server> => {
    const server = new RpcServer(options, share);
    await server.start();
    server.onEnd = note(server.urls.join(", "));
    return server;
  };
  if (options.workers !== undefined) {
    return announce(await (await import("./workers/serve-workers.js")).serveWorkers(options, start));
  }
  if (process.env[SHARED_VARIABLE] === undefined) return announce(await start());
  return announce(await (await import("./workers/shared-worker.js")).serveShared(options, start));
}

/** An arrival whose peer says what its greeting does. */
interface Admitted extends Arrival {
  readonly peer: Peer;
}

class RpcServer<Context> implements Server {
  readonly sessions: Set<Session> = new Set();
  private readonly options: ServeOptions<Context>;
  /** Sockets and keys that this process shares with the other workers of its group. */
  private readonly share: GroupShare | undefined;
  private readonly sessionOptions: SessionOptions<Context>;
  /** Routers of sessions that begin before their handshake is complete. */
  private readonly earlyRouters: readonly Router<Context>[] | undefined;
  private readonly limits: Limits;
  private readonly guard: OverloadGuard | undefined;
  private readonly load: ServerLoad;
  private readonly onError: ErrorHook;
  private readonly authentications: Authentications<Peer, Context> | undefined;
  private readonly credentials: SessionCredentials<Context>;
  private readonly listeners: Listener[] = [];
  private readonly http: HttpRequests | undefined = undefined;
  private settings: ListenSettings;
  /** Sessions that are being authenticated. */
  private readonly arriving: Set<Arrival> = new Set();
  private draining = false;
  /** Called when it has been closed. */
  onEnd: (() => void) | undefined = undefined;
  private closing: Promise<Unacknowledged> | undefined = undefined;

  constructor(options: ServeOptions<Context>, share?: GroupShare) {
    this.share = share;
    this.options = options;
    this.load = new ServerLoad(options.limits);
    this.guard = options.loadShedding && new OverloadGuard(options.loadShedding);
    const { interceptors = [] } = options;
    const served = combineRouters(options.routers);
    this.sessionOptions = {
      ...options,
      ...(this.guard !== undefined && { loadShedder: this.guard }),
      ...(options.limits !== undefined && { limits: completeLimits(options.limits) }),
      load: this.load,
      routers: [combineRouters([interceptRouter(served, interceptors)])],
    };
    if (options.earlyData === true) {
      this.earlyRouters = [combineRouters([interceptRouter(served, [runWhenProven, ...interceptors])])];
    }
    // From now on it remembers: what has a key from before may have run in a process that is gone.
    if (options.once !== undefined) OnceService.of(options.once);
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.onError = errorHook(options.onError);
    const { limits, onError } = this;
    const { authenticate } = options;
    this.authentications = authenticate && new Authentications({ authenticate, limits, onError });
    this.credentials = new SessionCredentials(options, limits, this.authentications);
    const { tls, secret, connectionIds, clientCertificates, allowedOrigins, allowedHosts, earlyData = false } = options;
    const transport = withKeepAlive(options.transport, options.keepAlive);
    const { webSocket = false, transports = [] } = options;
    const { http } = options;
    if (http !== undefined && http !== false) {
      this.http = new HttpRequests(() => !this.draining, typeof http !== "object" || http.http3 !== false);
    }
    const web = { webSocket, http: this.http, protocols: transports.flatMap(({ webProtocol }) => webProtocol ?? []) };
    const trustedProxies = options.trustedProxies && new TrustedProxies(options.trustedProxies);
    const pages = new PageGuard({ allowedOrigins, allowedHosts, onError, optionsOf: "serve", warn });
    const certificates = { tls, secret, connectionIds, clientCertificates };
    const methods = served.methods.map(({ method }) => method);
    const own = { pages, transport, trustedProxies, earlyData, limits, onError, web, methods };
    const ticketKeys = share === undefined ? [] : [share.ticketKey];
    this.settings = { ...certificates, ...own, ticketKeys, engineOptional: options.engine === "optional" };
  }

  get urls(): readonly string[] {
    return this.listeners.map(({ url }) => url);
  }

  get address(): { readonly host: string; readonly port: number } {
    const address = this.listeners.find((listener) => listener.address !== undefined)?.address;
    if (address === undefined) throw new TypeError("the server listens on no port, but on a path");
    return address;
  }

  async start(): Promise<void> {
    const onArrival = (arrival: Arrival): void => void this.take(arrival);
    const targets = this.shared(targetsOf(this.options, this.share?.passed));
    requireListenable(targets, this.settings);
    if (this.http !== undefined) this.http.listener = await this.httpListener(this.http, targets);
    let missing: unknown;
    try {
      // One after the other, so that a failure leaves none that is about to start.
      for (const target of targets) {
        const listening = target.provider.listen(target, this.settings, onArrival);
        const url = urlOf(target);
        const listeners = await listening.catch((cause: unknown) => {
          const error = transportError(cause, { doing: "listen on", url });
          if (!this.settings.engineOptional || !isMissingEngine(error)) throw error;
          missing = error;
          this.onError(error, { method: "serve" });
          return [];
        });
        this.listeners.push(...listeners, ...(await this.beside(target, listeners, onArrival)));
      }
      if (missing !== undefined && this.listeners.length === 0) throw missing;
      if (this.share === undefined && targets.some(isPassed)) await notifyReady();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Listens at a target's other address too, unless this machine has none. */
  private async beside(
    { otherHost, ...target }: ProvidedTarget,
    [first]: readonly Listener[],
    onArrival: (arrival: Arrival) => void,
  ): Promise<readonly Listener[]> {
    const port = first?.address?.port;
    // Workers share the sockets that their group has bound.
    if (otherHost === undefined || port === undefined || this.share !== undefined) return [];
    try {
      return await target.provider.listen({ ...target, host: otherHost, port }, this.settings, onArrival);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      // A port that the system has chosen may be taken at the other address.
      if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT" || target.port === 0) return [];
      throw transportError(cause, { doing: "listen on", url: urlOf({ ...target, host: otherHost, port }) });
    }
  }

  /** Makes the listener that answers requests over HTTP: the one that is given, or one by this server's own options. */
  private async httpListener(requests: HttpRequests, targets: readonly ProvidedTarget[]): Promise<HttpListener> {
    const { options, authentications, load, onError } = this;
    const { http, routers, interceptors, limits, allowedOrigins, once, principal } = options;
    if (typeof http === "function") return http;
    const { httpListener } = await import("./listen/http-package.js");
    const shared = { routers, interceptors, limits, load, onError, allowedOrigins, once, principal };
    const named = targets.flatMap(({ host }) => (host === undefined || isIP(host) !== 0 ? [] : [host]));
    const allowedHosts = named.length === 0 ? options.allowedHosts : [...(options.allowedHosts ?? []), ...named];
    return httpListener<Context>(typeof http === "object" ? http : {}, {
      ...shared,
      allowedHosts,
      host: { optionsOf: "serve", addressOf: (request) => requests.addressOf(request) },
      loadShedder: this.guard ?? options.loadShedder,
      authentications: authentications && {
        run: ({ peer, ...rest }) => authentications.run({ ...rest, peer: requests.peerOf(peer) }),
      },
    });
  }

  /** The targets, with this worker's sockets where their ports are a group's. */
  private shared(targets: readonly ProvidedTarget[]): readonly ProvidedTarget[] {
    const { share } = this;
    if (share === undefined) return targets;
    const members = share.members.values();
    return targets.map((target) => ({
      ...target,
      ...(isOverUdp(target) && { member: members.next().value }),
      ...(target.descriptor !== undefined && { handed: share.handed(target.descriptor) }),
    }));
  }

  async drain(options: ServerDrainOptions = {}): Promise<Unacknowledged> {
    checkDrain(options);
    this.draining = true;
    this.load.end();
    for (const listener of this.listeners) listener.stop();
    const { timeoutMs = this.limits.maxDrainMs } = options;
    let timer: NodeJS.Timeout | undefined;
    // From before the sessions are drained, which may take all of the time.
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(timeoutMs, this.limits.maxTimeoutMs));
    });
    const served = this.http?.listener?.drain?.({ timeoutMs }).catch((error: unknown) => {
      this.onError(error, { method: "http.drain" });
    });
    const ends = await pacedDrain(this.sessions, { ...options, timeoutMs });
    await served;
    // Those of sessions that have ended before.
    await Promise.race([this.load.idle, late]);
    clearTimeout(timer);
    return total([...ends, await this.close()]);
  }

  updateTls(update: TlsUpdate): void {
    const { settings: before } = this;
    if (this.closing !== undefined) throw new TypeError("the server is closed");
    if (update.clientCertificates !== undefined && before.clientCertificates === undefined) {
      throw new TypeError(
        "serve() needs the option clientCertificates from the start: updateTls() can only replace it",
      );
    }
    const after = { ...before, ...update };
    const updated: Listener[] = [];
    try {
      for (const listener of this.listeners) {
        listener.updateTls?.(after);
        updated.push(listener);
      }
    } catch (error) {
      for (const listener of updated) listener.updateTls?.(before);
      throw error;
    }
    this.settings = after;
  }

  close(options?: CloseOptions): Promise<Unacknowledged> {
    this.draining = true;
    this.load.end();
    this.closing ??= this.end(options);
    return this.closing;
  }

  stats(): ServerStats {
    this.load.measure();
    const { handlers, outliving, held } = this.load;
    return {
      sessions: this.sessions.size,
      authentications: this.authentications?.running ?? 0,
      handlers,
      outlivingHandlers: outliving,
      heldBytes: held,
    };
  }

  ref(): void {
    for (const listener of this.listeners) listener.ref();
  }

  unref(): void {
    for (const listener of this.listeners) listener.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Returns the value that `JSON.stringify` writes. */
  toJSON(): object {
    return { urls: this.urls, ...this.stats() };
  }

  /** Returns the value that `console.log` writes, which is without the options: they hold the private key. */
  [inspect.custom](): object {
    return this.toJSON();
  }

  private async end(options: CloseOptions = {}): Promise<Unacknowledged> {
    const { closeCode = 0, reason = "" } = options;
    const info = { closeCode, reason };
    for (const listener of this.listeners) listener.stop();
    for (const { transport, visit } of this.arriving) {
      visit.refuse();
      transport.close(info);
    }
    const ends = await Promise.all(Array.from(this.sessions, (session) => session.close(options)));
    await Promise.all(this.listeners.map((listener) => listener.close(info)));
    this.guard?.stop();
    this.onEnd?.();
    return total(ends);
  }

  /**
   * Nothing of the session is read before it is authenticated, but its greeting where `authenticate` asks for that: what it sends
   * meanwhile is held back by flow control.
   */
  private async take(arrived: Arrival): Promise<void> {
    const { peer, forget } = greetedPeer(arrived, this.limits, this.options.prefix);
    const arrival = { ...arrived, peer };
    const { refusal, visit } = arrival;
    this.arriving.add(arrival);
    visit.arrived();
    try {
      if (this.draining) throw new RpcError("unavailable", "the server is being drained");
      if (refusal !== undefined) throw refusal;
      const late = (): string =>
        `the session was not authenticated within ${this.limits.maxHandshakeMs} ms of its connection (limits.maxHandshakeMs)`;
      const connection = await this.authentications?.run({ ...arrival, late });
      forget();
      if (this.draining) throw new RpcError("unavailable", "the server is being drained");
      if (!visit.admit()) throw noRoom();
      this.adopt(arrival, connection as Context);
    } catch (error) {
      this.refuse(error, "authenticate", arrival);
    } finally {
      this.arriving.delete(arrival);
    }
  }

  private adopt(arrival: Admitted, connection: Context): void {
    const { transport, peer } = arrival;
    const { onSession, onSessionEnd } = this.options;
    const routers = (isEarly(transport) ? this.earlyRouters : undefined) ?? this.sessionOptions.routers;
    const { renewal, follow } = this.credentials.begin(peer, connection, transport);
    // No option of a server has the name of the first two, which come first: on Node 20 a key after a spread makes a new hidden class each time.
    const own = {
      connection,
      peer: addressOf(peer),
      ...this.sessionOptions,
      ...(routers && { routers }),
      ...(renewal && { renewal }),
    };
    const session = createSession(transport, own);
    this.sessions.add(session);
    if (this.options.maxSessionAgeMs !== undefined) limitAge(session, this.options.maxSessionAgeMs);
    follow(session);
    if (onSessionEnd === undefined) this.forgetAtEnd(session);
    else this.tellAtEnd(session, peer, onSessionEnd);
    if (onSession !== undefined) this.tellBegun(session, arrival, onSession);
  }

  // Each is a function of its own: what is kept until a session ends is not to keep its arrival, nor its peer where nobody asks for that.

  private forgetAtEnd(session: Session): void {
    void session.closed.then(() => this.sessions.delete(session));
  }

  private tellAtEnd(session: Session, peer: Peer, onSessionEnd: (end: SessionEnd, peer: Peer) => void): void {
    void session.closed.then((end) => {
      this.sessions.delete(session);
      this.tell("onSessionEnd", onSessionEnd, end, peer);
    });
  }

  private tellBegun(session: Session, arrival: Admitted, onSession: (session: Session, peer: Peer) => void): void {
    guarded(onSession, (error) => this.refuse(error, "onSession", arrival))(session, arrival.peer);
  }

  /** Only an `RpcError` says to the peer why. Another exception, of the hook `name`, goes to `onError`. */
  private refuse(error: unknown, name: string, { transport, peer, visit }: Admitted): void {
    visit.refuse();
    const told = error instanceof RpcError ? error : new RpcError("internal", "the server could not take the session");
    transport.close({ closeCode: refusalCode(told.code), reason: told.message });
    if (told !== error) this.onError(error, { method: name });
    this.tell("onRefused", this.options.onRefused, told, peer);
    const { listener, remoteAddress } = peer;
    const reason = `${told.code}: ${told.message}`;
    tellRefusal(() => ({ stage: "session", listener, remoteAddress, reason, error }));
  }

  /** Calls a hook. What it throws costs nobody else. */
  private tell<Told>(name: string, hook: ((told: Told, peer: Peer) => void) | undefined, told: Told, peer: Peer): void {
    if (hook !== undefined) guarded(hook, (thrown) => this.onError(thrown, { method: name }))(told, peer);
  }
}

function total(ends: readonly Unacknowledged[]): Unacknowledged {
  return { unacknowledged: ends.reduce((sum, { unacknowledged }) => sum + unacknowledged, 0) };
}

function warn(text: string): void {
  process.emitWarning(text, { code: "QUICRPC_PAGE_REFUSED" });
}
