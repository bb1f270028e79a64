import type { CallPlaces } from "../call/call-places.js";
import type { TypedCaller } from "../call/base-caller.js";
import type { TransportSession } from "../transport/session.js";
import type { DemandOptions } from "./server-renewal.js";
import type { Departure } from "../wire/departure.js";
import type { ClosedSession, CloseOptions, SessionDrainOptions, SessionEnd } from "./options.js";

/** Calls over one transport session. */
export interface ClientSession<Transport extends TransportSession = TransportSession> extends TypedCaller {
  /** The transport session that carries this session. */
  readonly transport: Transport;
  /** Resolves when the session has ended, for whatever reason. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /** Notifications sent, but by datagram, that the peer is not known to have received. */
  readonly unacknowledged: number;
  /**
   * Ends the session: calls in progress fail with `unavailable`. With code 0 (the default), it first waits until the peer has
   * acknowledged the notifications that were sent before, for `timeoutMs` at most, and tells of how many it has not.
   * Never rejects.
   */
  close(options?: CloseOptions): Promise<ClosedSession>;
  /** Whether calls can be made: it has not ended, and neither side drains it. */
  readonly takesCalls: boolean;
  /** @internal Set by a connection: notified of each call that is over, and of the peer's limit of calls. */
  places?: CallPlaces | undefined;
  /** @internal The peer's limit of concurrent calls, if it has announced it; undefined if it never does. */
  readonly peerCalls?: number | undefined;
  /** @internal Calls of this side that are not over. */
  callsMade?(): number;
  /** Resolves when either side has started to drain the session: make new calls on another one. */
  readonly draining: Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A session that both sides may call and serve on. */
export interface Session<Transport extends TransportSession = TransportSession> extends ClientSession<Transport> {
  /**
   * Ends the session without failing a call. Calls in progress continue; new calls of the peer, and of this side unless
   * a handler makes them, are refused with `unavailable`. Closes with code 0 when all calls are over, or with
   * `SessionCode.DrainTimeout` after `timeoutMs` (default: `limits.maxDrainMs`).
   */
  drain(options?: SessionDrainOptions): Promise<ClosedSession>;
  /**
   * The address for further calls and the time that calls in progress have, as the peer announced when it began to
   * drain; undefined if it announced neither.
   */
  readonly departure: Departure | undefined;
  /**
   * Asks the client for new credentials (`renewCredentials`, or `credentials` of `connect`), for example after its
   * permissions have changed. If it has none, or does not answer within `withinMs`, the session drains, and the
   * client's next session begins with new credentials.
   */
  demandCredentials(options?: DemandOptions): void;
  /** Measures the round-trip time, in milliseconds. Rejects when the session ends before, with the error of its calls. */
  ping(): Promise<number>;
  /** The round-trip time that the last ping measured, in milliseconds; undefined before the first. */
  readonly rttMs: number | undefined;
}
