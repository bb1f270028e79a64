import type { CallPlaces } from "../call/call-places.js";
import type { TypedCaller } from "../call/base-caller.js";
import type { TransportSession } from "../transport/session.js";
import type { DemandOptions } from "./server-renewal.js";
import type { Departure } from "../wire/departure.js";
import type { ClosedSession, CloseOptions, SessionDrainOptions, SessionEnd } from "./options.js";

/** A session on which this side makes calls, over one transport session. */
export interface ClientSession<Transport extends TransportSession = TransportSession> extends TypedCaller {
  /** The transport session on which this session runs. */
  readonly transport: Transport;
  /** Resolves when the session has ended for any reason. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /** Number of sent notifications that the peer has not acknowledged yet. Datagrams do not count. */
  readonly unacknowledged: number;
  /**
   * Closes the session. Calls in progress fail with `unavailable`. With code 0 (the default), first waits until the
   * peer has acknowledged all notifications, for at most `timeoutMs`. Resolves with the number of unacknowledged ones.
   * Never rejects.
   */
  close(options?: CloseOptions): Promise<ClosedSession>;
  /** Whether calls can be made: false if the session has ended or is being drained. */
  readonly takesCalls: boolean;
  /** @internal Limits concurrent calls. Set by a connection. */
  places?: CallPlaces | undefined;
  /** @internal Limit of concurrent calls that the peer has announced; undefined if it announces none. */
  readonly peerCalls?: number | undefined;
  /** @internal Returns the number of this side's calls in progress. */
  callsMade?(): number;
  /** Resolves when either side has started to drain the session. Make new calls on another session then. */
  readonly draining: Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A session on which both sides may make and serve calls. */
export interface Session<Transport extends TransportSession = TransportSession> extends ClientSession<Transport> {
  /**
   * Closes the session without failing calls. Calls in progress continue; new calls fail with `unavailable`, except
   * those that handlers of calls in progress make. The session closes with code 0 when all calls have ended, or with
   * `SessionCode.DrainTimeout` after `timeoutMs` (default: `limits.maxDrainMs`).
   */
  drain(options?: SessionDrainOptions): Promise<ClosedSession>;
  /**
   * The peer's announcement when it started to drain the session: the address for further calls, and the time that
   * calls in progress have. Undefined if there is none.
   */
  readonly departure: Departure | undefined;
  /**
   * Asks the client for new credentials (`renewCredentials`, or `credentials` of `connect`), for example after its
   * permissions have changed. If the client sends none within `withinMs`, the session is drained, and the client's next
   * session starts with new credentials.
   */
  demandCredentials(options?: DemandOptions): void;
  /**
   * Sends a ping and resolves with the round-trip time in milliseconds. Rejects with the error of failed calls if the
   * session ends first.
   */
  ping(): Promise<number>;
  /** Round-trip time of the last ping in milliseconds; undefined before the first one. */
  readonly rttMs: number | undefined;
}
