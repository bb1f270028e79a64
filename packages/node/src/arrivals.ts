import {
  type Authentications,
  type CloseInfo,
  createSession,
  type ErrorHook,
  guarded,
  refusalCode,
  type SessionEnd,
  sourceOf,
} from "@quicrpc/core/transport";
import { type Limits, type Router, RpcError, type Session, type SessionOptions } from "@quicrpc/core";
import { isEarly } from "./early-data.js";
import { greetedPeer } from "./greeted-peer.js";
import { type Arrival, noRoom } from "./listen/listener.js";
import { addressOf, type Peer } from "./peer.js";
import { tellRefusal } from "./refusals.js";
import type { ServeOptions } from "./serve-options.js";
import { limitAge } from "./session-age.js";
import { SessionCredentials } from "./session-credentials.js";

/** Settings with which a server accepts sessions. */
interface ArrivalSettings<Context> {
  readonly options: ServeOptions<Context>;
  readonly limits: Limits;
  readonly onError: ErrorHook;
  readonly authentications: Authentications<Peer, Context> | undefined;
  readonly sessionOptions: SessionOptions<Context>;
  /** Routers of sessions that start before their handshake is complete. Default: those of every session. */
  readonly earlyRouters: readonly Router<Context>[] | undefined;
}

/** An incoming session whose peer includes the greeting. */
interface Admitted extends Arrival {
  readonly peer: Peer;
}

/** Accepts or refuses the incoming sessions of a server. */
export class Arrivals<Context> {
  readonly sessions: Set<Session> = new Set();
  /** If true, new incoming sessions are refused. */
  draining = false;
  private readonly settings: ArrivalSettings<Context>;
  private readonly credentials: SessionCredentials<Context>;
  /** Incoming sessions that are being authenticated. */
  private readonly arriving: Set<Arrival> = new Set();

  constructor(settings: ArrivalSettings<Context>) {
    this.settings = settings;
    const { options, limits, authentications } = settings;
    this.credentials = new SessionCredentials(options, limits, authentications);
  }

  /**
   * Authenticates an incoming session, then accepts or refuses it. Until then nothing of it is read, except the
   * greeting if `authenticate` asks for it. Flow control holds back everything else.
   */
  async take(arrived: Arrival): Promise<void> {
    const { options, limits, authentications } = this.settings;
    const { peer, forget } = greetedPeer(arrived, limits, options.prefix);
    const arrival = { ...arrived, peer };
    const { refusal, visit } = arrival;
    this.arriving.add(arrival);
    visit.arrived();
    try {
      if (this.draining) throw new RpcError("unavailable", "the server is being drained");
      if (refusal !== undefined) throw refusal;
      const late = (): string =>
        `the session was not authenticated within ${limits.maxHandshakeMs} ms of its connection (limits.maxHandshakeMs)`;
      const source = sourceOf(peer.remoteAddress?.host ?? "");
      const connection = await authentications?.run({ ...arrival, source, late });
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

  /** Closes all incoming sessions that are still being authenticated. */
  end(info: CloseInfo): void {
    for (const { transport, visit } of this.arriving) {
      visit.refuse();
      transport.close(info);
    }
  }

  private adopt(arrival: Admitted, connection: Context): void {
    const { transport, peer } = arrival;
    const { options, sessionOptions, earlyRouters } = this.settings;
    const { onSession, onSessionEnd, maxSessionAgeMs } = options;
    const routers = (isEarly(transport) ? earlyRouters : undefined) ?? sessionOptions.routers;
    const { renewal, follow } = this.credentials.begin(peer, connection, transport);
    // No option of a server has the name of the first two, which come first: on Node 20 a key after a spread makes a new hidden class each time.
    const own = {
      connection,
      peer: addressOf(peer),
      ...sessionOptions,
      ...(routers && { routers }),
      ...(renewal && { renewal }),
    };
    const session = createSession(transport, own);
    this.sessions.add(session);
    if (maxSessionAgeMs !== undefined) limitAge(session, maxSessionAgeMs);
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

  /**
   * Refuses an incoming session. The peer receives the message of an `RpcError` only; `onError` receives any other
   * exception of the hook `name`.
   */
  private refuse(error: unknown, name: string, { transport, peer, visit }: Admitted): void {
    const { options, onError } = this.settings;
    visit.refuse();
    const told = error instanceof RpcError ? error : new RpcError("internal", "the server could not take the session");
    transport.close({ closeCode: refusalCode(told.code), reason: told.message });
    if (told !== error) onError(error, { method: name });
    this.tell("onRefused", options.onRefused, told, peer);
    const { listener, remoteAddress } = peer;
    const reason = `${told.code}: ${told.message}`;
    tellRefusal(() => ({ stage: "session", listener, remoteAddress, reason, error }));
  }

  /** Calls a hook and reports its exceptions, which must not affect other peers. */
  private tell<Told>(name: string, hook: ((told: Told, peer: Peer) => void) | undefined, told: Told, peer: Peer): void {
    if (hook !== undefined) guarded(hook, (thrown) => this.settings.onError(thrown, { method: name }))(told, peer);
  }
}
