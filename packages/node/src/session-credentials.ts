import {
  type Authentications,
  type RenewalOptions,
  type RenewedConnection,
  type RenewedGreeting,
  sourceOf,
} from "@quicrpc/core/internal";
import type { TransportSession } from "@quicrpc/core/transport";
import { type Limits, RpcError, type Session } from "@quicrpc/core";
import { renewedPeer } from "./greeted-peer.js";
import type { Peer } from "./peer.js";
import type { ServeSettings } from "./serve-options.js";
import { SessionExpiry } from "./session-expiry.js";

/**
 * Default of `expiryGraceMs` in milliseconds: how long calls in progress continue after the credentials have expired.
 */
const EXPIRY_GRACE_MS = 10_000;

/** Handling of a new session's credentials: how they are renewed and when they expire. */
interface BegunCredentials<Context> {
  /**
   * Options for the renewal of the credentials. Undefined if the client's subject is unknown: the server then cannot
   * check that new credentials belong to the same client.
   */
  readonly renewal: RenewalOptions<Context> | undefined;
  /** Starts to watch the expiry of a session: drains it before its credentials expire, unless they are renewed. */
  readonly watchExpiry: (session: Session) => void;
}

/** Manages the expiry and renewal of client credentials for all sessions of a server. */
export class SessionCredentials<Context> {
  private readonly options: ServeSettings<Context>;
  private readonly limits: Limits;
  private readonly authentications: Authentications<Peer, Context> | undefined;

  constructor(
    options: ServeSettings<Context>,
    limits: Limits,
    authentications: Authentications<Peer, Context> | undefined,
  ) {
    this.options = options;
    this.limits = limits;
    this.authentications = authentications;
  }

  /**
   * Prepares the credentials of a new session. Throws if the expiry is invalid, so that the session is refused:
   * otherwise it would never end.
   */
  begin(peer: Peer, connection: Context, transport: TransportSession): BegunCredentials<Context> {
    const expiresAt = this.expiryOf(connection);
    const expiry = new SessionExpiry(this.options.expiryGraceMs ?? EXPIRY_GRACE_MS);
    const renewal = this.renewalOf(peer, connection, transport, expiresAt, expiry);
    const watchExpiry = (session: Session): void => {
      if (renewal !== undefined || expiresAt !== undefined) expiry.watch(session, expiresAt);
    };
    return { renewal, watchExpiry };
  }

  private renewalOf(
    peer: Peer,
    connection: Context,
    transport: TransportSession,
    expiresAt: number | undefined,
    expiry: SessionExpiry,
  ): RenewalOptions<Context> | undefined {
    const { authentications } = this;
    const subject = this.subjectOf(connection);
    if (authentications === undefined || subject === undefined) return undefined;
    const renew = async (greeting: RenewedGreeting): Promise<RenewedConnection<Context>> => {
      const { maxHandshakeMs } = this.limits;
      const timeoutMessage = (): string =>
        `new credentials were not accepted or refused within ${maxHandshakeMs} ms (limits.maxHandshakeMs)`;
      const pending = { remainingMs: maxHandshakeMs, onGone: (onClosed: () => void) => expiry.onClosed(onClosed) };
      // Counted separately from new sessions, so that new clients with the same address do not delay renewals in
      // existing sessions.
      const source = `renewals of ${sourceOf(peer.remoteAddress?.host ?? "")}`;
      const renewing = renewedPeer(peer, greeting, transport);
      const renewed = await authentications.run({ peer: renewing, source, timeoutMessage, pending });
      if (this.subjectOf(renewed) !== subject)
        throw new RpcError(
          "permission_denied",
          "the new credentials belong to another subject, which needs a session of its own",
        );
      const newExpiry = this.expiryOf(renewed);
      expiry.renew(newExpiry);
      return { connection: renewed, expiresAt: newExpiry };
    };
    return { renew, expiresAt };
  }

  private subjectOf(connection: Context): string | undefined {
    const { subjectOf } = this.options;
    if (subjectOf !== undefined) return subjectOf(connection);
    return typeof connection === "string" ? connection : undefined;
  }

  private expiryOf(connection: Context): number | undefined {
    const expiry = this.options.expiresAt?.(connection);
    if (expiry === undefined || !Number.isNaN(Number(expiry))) return expiry && Number(expiry);
    throw new TypeError("expiresAt must return a date, or milliseconds since the epoch");
  }
}
