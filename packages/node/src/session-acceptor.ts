import { type Authentications, createSession, type ErrorHook, guarded, sourceOf } from "@quicrpc/core/internal";
import { type CloseInfo, refusalCode } from "@quicrpc/core/transport";
import { type Limits, type Router, RpcError, type Session, type SessionOptions } from "@quicrpc/core";
import { isEarly } from "./early-data.js";
import { greetedPeer } from "./greeted-peer.js";
import { type IncomingSession, noRoom } from "./listen/listener.js";
import { peerAddressOf, type Peer } from "./peer.js";
import { reportRefusal } from "./refusals.js";
import type { ServeSettings } from "./serve-options.js";
import { limitAge } from "./session-expiry.js";
import { SessionCredentials } from "./session-credentials.js";

interface AcceptorSettings<Context> {
  readonly options: ServeSettings<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
  readonly authentications: Authentications<Peer, Context> | undefined;
  readonly sessionOptions: SessionOptions<Context>;
  /**
   * Routers for sessions that start before their handshake is complete. Undefined: the same routers as for all
   * sessions.
   */
  readonly earlyRouters: readonly Router<Context>[] | undefined;
}

/** An incoming session with its complete peer, including the greeting. */
interface Admitted extends IncomingSession {
  readonly peer: Peer;
}

/** Accepts or refuses the incoming sessions of a server. */
export class SessionAcceptor<Context> {
  readonly sessions: Set<Session> = new Set();
  /** True if new incoming sessions are refused because the server drains. */
  draining = false;
  private readonly settings: AcceptorSettings<Context>;
  private readonly credentials: SessionCredentials<Context>;
  /** Incoming sessions that the server is authenticating. */
  private readonly arriving: Set<IncomingSession> = new Set();

  constructor(settings: AcceptorSettings<Context>) {
    this.settings = settings;
    const { options, limits, authentications } = settings;
    this.credentials = new SessionCredentials(options, limits, authentications);
  }

  /**
   * Authenticates an incoming session, and then accepts or refuses it. Until then, the server reads none of the
   * session's data, except the greeting if `authenticate` uses it. Flow control stops the client from sending more.
   */
  async accept(arrived: IncomingSession): Promise<void> {
    const { options, limits, authentications } = this.settings;
    const { peer, releaseGreeting } = greetedPeer(arrived, limits, options.prefix);
    const incoming = { ...arrived, peer };
    const { refusal, pending } = incoming;
    this.arriving.add(incoming);
    pending.arrived();
    try {
      if (this.draining) throw new RpcError("unavailable", "the server is being drained");
      if (refusal !== undefined) throw refusal;
      const timeoutMessage = (): string =>
        `the session was not authenticated within ${limits.maxHandshakeMs} ms of its connection (limits.maxHandshakeMs)`;
      const source = sourceOf(peer.remoteAddress?.host ?? "");
      const connection = await authentications?.run({ ...incoming, source, timeoutMessage });
      releaseGreeting();
      if (this.draining) throw new RpcError("unavailable", "the server is being drained");
      if (!pending.admit()) throw noRoom();
      this.adopt(incoming, connection as Context);
    } catch (error) {
      this.refuse(error, "authenticate", incoming);
    } finally {
      this.arriving.delete(incoming);
    }
  }

  end(info: CloseInfo): void {
    for (const { transport, pending } of this.arriving) {
      pending.refuse();
      transport.close(info);
    }
  }

  private adopt(incoming: Admitted, connection: Context): void {
    const { transport, peer } = incoming;
    const { options, sessionOptions, earlyRouters } = this.settings;
    const { onSession, maxSessionAgeMs } = options;
    const routers = (isEarly(transport) ? earlyRouters : undefined) ?? sessionOptions.routers;
    const { renewal, watchExpiry } = this.credentials.begin(peer, connection, transport);
    // The first two keys come before the spread, which is safe because no server option has these names. On Node 20, a
    // key after a spread creates a new hidden class each time.
    const createOptions = {
      connection,
      peer: peerAddressOf(peer),
      ...sessionOptions,
      ...(routers && { routers }),
      ...(renewal && { renewal }),
    };
    const session = createSession(transport, createOptions);
    this.sessions.add(session);
    if (maxSessionAgeMs !== undefined) limitAge(session, maxSessionAgeMs);
    watchExpiry(session);
    this.forgetAtEnd(session);
    if (onSession !== undefined) this.notifyBegun(session, incoming, onSession);
  }

  // These are separate functions, so that the closures that exist until the session ends do not keep its incoming
  // session in memory, nor its peer if there is no hook.

  private forgetAtEnd(session: Session): void {
    void session.closed.then(() => this.sessions.delete(session));
  }

  private notifyBegun(session: Session, incoming: Admitted, onSession: (session: Session, peer: Peer) => void): void {
    guarded(onSession, (error) => this.refuse(error, "onSession", incoming))(session, incoming.peer);
  }

  /**
   * Refuses an incoming session. If `error` is an `RpcError`, its message is sent to the client. Any other exception of
   * the hook `name` is only reported to `onError`.
   */
  private refuse(error: unknown, name: string, { transport, peer, pending }: Admitted): void {
    const { options, onError } = this.settings;
    pending.refuse();
    const reported =
      error instanceof RpcError ? error : new RpcError("internal", "the server could not accept the session");
    transport.close({ closeCode: refusalCode(reported.code), reason: reported.message });
    if (reported !== error) onError(error, { method: name });
    this.callHook("onRefused", options.onRefused, reported, peer);
    const { listener, remoteAddress } = peer;
    const reason = `${reported.code}: ${reported.message}`;
    reportRefusal(() => ({ stage: "session", listener, remoteAddress, reason, error }));
  }

  /**
   * Calls a hook of the application and reports its exception to `onError`, so that it does not affect other clients.
   */
  private callHook<Value>(
    name: string,
    hook: ((value: Value, peer: Peer) => void) | undefined,
    value: Value,
    peer: Peer,
  ): void {
    if (hook !== undefined) guarded(hook, (thrown) => this.settings.onError(thrown, { method: name }))(value, peer);
  }
}
