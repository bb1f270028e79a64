import type { CloseInfo, TransportSession } from "./session.js";
import type { ClientLimits } from "../client-limits.js";
import type { Frame } from "../wire/frame.js";
import type { FrameWriter } from "../wire/writer.js";

/** The members of a client's session that a key proof uses. */
export interface ProvingHost {
  readonly transport: TransportSession;
  /** The server's URL; undefined if it is not known. */
  readonly peer: string | undefined;
  readonly limits: ClientLimits;
  readonly closed: Promise<unknown>;
  close(info: CloseInfo): unknown;
  /** Returns a lane for sending credentials frames; undefined if the session has ended. */
  openLane(): { sendCredentials(write: (out: FrameWriter) => void): void } | undefined;
}

/** The part of a client that handles its server's requests for credentials or for a proof of its key. */
export interface ClientSide {
  /** Called with a credentials frame from the server. Its bytes are valid only during the call. */
  onFrame(frame: Frame): void;
  /** Called when the server has accepted the session. */
  onHello?(): void;
  /** Called when a call has failed with `unauthenticated`. */
  onUnauthenticated(): void;
  /** Called when the session has ended. */
  stop(): void;
}

/**
 * Proves to servers that a client has a private key. Created by `prover` of `@quicrpc/core/proof`; usable for any
 * number of sessions.
 */
export interface Prover {
  /** Encoded field for the hello, which announces that this client can prove possession of a key. */
  readonly fields: Uint8Array;
  /**
   * Answers the server's challenges in a session, beginning with its first.
   *
   * @param renewal receives the server's other notices about credentials; undefined if the client does not renew them
   */
  follow(session: ProvingHost, credentials: string | undefined, renewal: ClientSide | undefined): ClientSide;
  /**
   * Returns the encoded field that proves possession of the key when a session's credentials are renewed; undefined if
   * the server has not sent a challenge.
   */
  prove(session: object, credentials: string): Promise<Uint8Array | undefined>;
  /**
   * Resolves when the server has accepted a session that was made with this prover, or when the session has ended.
   * Calls may be made only after that. If the server does neither within `limits.maxHandshakeMs`, or the signal fires,
   * the session is closed and the promise rejects with `deadline_exceeded` or the signal's reason.
   */
  proven(session: object, signal?: AbortSignal): Promise<void>;
}
