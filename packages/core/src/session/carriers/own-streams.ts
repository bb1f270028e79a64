import { OutgoingCallStream, type StreamOpener } from "../../call/outgoing-stream.js";
import type { TransportSession } from "../../transport/session.js";
import type { StreamSession } from "../stream-session.js";

/** The streams that this side opens for one call each. */
export class OwnStreams implements StreamOpener {
  /** Number of streams of this side's calls that are not over. */
  made = 0;
  /** Called when a stream with a notification is over. */
  onConfirmed: (() => void) | undefined = undefined;
  /** Number of streams with notifications that the peer may not have received yet. */
  #unconfirmed = 0;
  /** Number of notifications on streams that ended before the peer had received them. */
  #lost = 0;
  readonly #session: StreamSession<TransportSession>;

  constructor(session: StreamSession<TransportSession>) {
    this.#session = session;
  }

  /** Whether the peer has received every notification that was sent on its own stream. */
  get confirmed(): boolean {
    return this.#unconfirmed === 0;
  }

  /** Number of notifications that the peer may not have received. */
  get unacknowledged(): number {
    return this.#unconfirmed + this.#lost;
  }

  /** Opens the carrier of one call. Throws `RpcError` if no stream can be opened. */
  open(): OutgoingCallStream {
    return this.#carry(false);
  }

  /** Opens the carrier of one notification, which has no response. */
  openForNotify(): OutgoingCallStream {
    const carrier = this.#carry(true);
    this.#unconfirmed++;
    return carrier;
  }

  onOver(notifies: boolean, received: boolean): void {
    if (notifies) {
      this.#unconfirmed--;
      if (!received) this.#lost++;
      this.onConfirmed?.();
    }
    this.made--;
    this.#session.places?.onCallOver();
    this.#session.onIdle();
  }

  #carry(notifies: boolean): OutgoingCallStream {
    const stream = this.#session.openStream();
    this.made++;
    return new OutgoingCallStream(stream, this.#session.settings, this, notifies);
  }
}
