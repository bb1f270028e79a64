import type { CloseInfo, TransportSession } from "./session.js";
import type { ClientLimits } from "../client-limits.js";
import type { Frame } from "../wire/frame.js";
import type { FrameWriter } from "../wire/writer.js";

/** The session, as far as the proof of its client's key needs it. */
export interface ProvingHost {
  readonly transport: TransportSession;
  /** The server's URL, if it is known. */
  readonly peer: string | undefined;
  readonly limits: ClientLimits;
  readonly closed: Promise<unknown>;
  close(info: CloseInfo): unknown;
  /** A lane to send on; undefined when the session has ended. */
  openLane(): { sendCredentials(write: (out: FrameWriter) => void): void } | undefined;
}

/** The side of a client that answers its server's questions about it. */
export interface ClientSide {
  /** A credentials frame of the server, whose bytes are lent. */
  onFrame(frame: Frame): void;
  /** The server has let the session in. */
  onHello?(): void;
  /** A call has failed since its caller is not authenticated. */
  onUnauthenticated(): void;
  /** The session has ended. */
  stop(): void;
}

/** Proves that a client has its key: `prover` of `@quicrpc/core/proof` makes one. It serves any number of sessions. */
export interface Prover {
  /** Encoded field for the session's hello, which announces that this client proves a key. */
  readonly fields: Uint8Array;
  /**
   * Answers the server's challenges at the beginning of a session.
   *
   * @param renewal receives challenges about credentials if they are renewed
   */
  follow(session: ProvingHost, credentials: string | undefined, renewal: ClientSide | undefined): ClientSide;
  /**
   * Returns the encoded field that proves new credentials in a session; undefined if the server has not asked for one.
   */
  prove(session: object, credentials: string): Promise<Uint8Array | undefined>;
  /**
   * Resolves when the server has accepted a session that was made with this prover, or when the session has ended.
   * Calls may be made only after that. If the server does neither within `limits.maxHandshakeMs`, or the signal fires,
   * the session is closed and the promise rejects with `deadline_exceeded` or the signal's reason.
   */
  proven(session: object, signal?: AbortSignal): Promise<void>;
}
