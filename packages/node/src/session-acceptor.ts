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

/** Settings with which a server accepts sessions. */
interface AcceptorSettings<Context> {
  readonly options: ServeSettings<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
  readonly authentications: Authentications<Peer, Context> | undefined;
  readonly sessionOptions: SessionOptions<Context>;
  /** Routers of sessions that start before their handshake is complete. Default: the routers of every session. */
  readonly earlyRouters: readonly Router<Context>[] | undefined;
}

/** An incoming session whose peer includes the greeting. */
interface Admitted extends IncomingSession {
  readonly peer: Peer;
}

/** Accepts or refuses the incoming sessions of a server. */
export class SessionAcceptor<Context> {
  readonly sessions: Set<Session> = new Set();
  /** If true, new incoming sessions are refused. */
  draining = false;
  private readonly settings: AcceptorSettings<Context>;
  private readonly credentials: SessionCredentials<Context>;
  /** Incoming sessions that are being authenticated. */
  private readonly arriving: Set<IncomingSession> = new Set();

  constructor(settings: AcceptorSettings<Context>) {
    this.settings = settings;
    const { options, limits, authentications } = settings;
    this.credentials = new SessionCredentials(options, limits, authentications);
  }

  /**
   * Authenticates an incoming session, then accepts or refuses it. Until then nothing of it is read, except the
   * greeting if `authenticate` asks for it. Flow control holds back everything else.
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
      const connection = await authentications?.run({ ...incoming, source, late: timeoutMessage });
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

  /** Closes all incoming sessions that are still being authenticated. */
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
    // No option of a server has the name of the first two, which come first: on Node 20 a key after a spread makes a new hidden class each time.
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

  // These are separate functions, so that the closures kept until a session ends do not hold its incoming session, nor
  // its peer without a hook.

  private forgetAtEnd(session: Session): void {
    void session.closed.then(() => this.sessions.delete(session));
  }

  private notifyBegun(session: Session, incoming: Admitted, onSession: (session: Session, peer: Peer) => void): void {
    guarded(onSession, (error) => this.refuse(error, "onSession", incoming))(session, incoming.peer);
  }

  /**
   * Refuses an incoming session. The peer receives the message of an `RpcError` only; `onError` receives any other
   * exception of the hook `name`.
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

  /** Calls a hook and reports its exceptions, which must not affect other peers. */
  private callHook<Value>(
    name: string,
    hook: ((value: Value, peer: Peer) => void) | undefined,
    value: Value,
    peer: Peer,
  ): void {
    if (hook !== undefined) guarded(hook, (thrown) => this.settings.onError(thrown, { method: name }))(value, peer);
  }
}
