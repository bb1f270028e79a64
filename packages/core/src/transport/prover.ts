import type { CloseInfo, TransportSession } from "./session.js";
import type { Limits } from "../limits.js";
import type { Frame } from "../wire/frame.js";
import type { FrameWriter } from "../wire/writer.js";

/** The session, as far as the proof of its client's key needs it. */
export interface ProvingHost {
  readonly transport: TransportSession;
  /** The server's URL, where it is known. */
  readonly peer: string | undefined;
  readonly limits: Limits;
  readonly closed: Promise<unknown>;
  close(info: CloseInfo): unknown;
  /** A lane to send on; undefined when the session has ended. */
  openLane(): { sendCredentials(write: (out: FrameWriter) => void): void } | undefined;
}

/** What a session tells of its server's questions. */
export interface Proving {
  /** The server gives a nonce; the frame's bytes are lent. */
  onChallenge(frame: Frame): void;
  /** The server has let the session in. */
  onHello(): void;
}

/** Proves that a client has its key: `prover` of `@quicrpc/core/proof` makes one. It serves any number of sessions. */
export interface Prover {
  /** Answers the questions of a session that begins. */
  follow(session: ProvingHost, credentials: string | undefined): Proving;
  /** Proves new credentials in a session; undefined where its server has not asked for that. */
  prove(session: object, credentials: string): Promise<Uint8Array | undefined>;
  /**
   * Resolves when the server of a session that was made with this prover has let it in, or the session has ended: no call may be made before. Rejects
   * with `deadline_exceeded` where the server does neither within `limits.maxHandshakeMs`, and with the reason of the signal; the session is closed then.
   */
  proven(session: object, signal?: AbortSignal): Promise<void>;
}
