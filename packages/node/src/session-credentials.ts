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

/** Milliseconds that calls in progress may continue after the session's credentials have expired. */
const EXPIRY_GRACE_MS = 10_000;

/** Credentials of a new session. */
interface BegunCredentials<Context> {
  /**
   * How the client renews them, or undefined if the subject is unknown, so that new ones cannot be matched with the
   * client.
   */
  readonly renewal: RenewalOptions<Context> | undefined;
  /** Drains the session before they expire, unless they are renewed. */
  readonly watchExpiry: (session: Session) => void;
}

/** Expiry and renewal of the credentials of a server's sessions. */
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
   * Registers a new session. Throws for an invalid expiry, which refuses the session: it must not live without an end.
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
      // Newcomers of the same address do not keep live sessions waiting.
      const source = `renewals of ${sourceOf(peer.remoteAddress?.host ?? "")}`;
      const renewing = renewedPeer(peer, greeting, transport);
      const renewed = await authentications.run({ peer: renewing, source, late: timeoutMessage, pending });
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
