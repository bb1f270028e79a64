import { OutgoingCallStream, type StreamOpener } from "../../call/outgoing-stream.js";
import type { CallPlaces } from "../../call/call-places.js";
import type { CarrierSettings } from "../../call/carrier.js";
import type { DirectStream } from "../../transport/session.js";

/** The session of the streams. */
export interface StreamsHost {
  readonly settings: CarrierSettings;
  /** Opens a stream. Throws `RpcError` if that is not possible. */
  openStream(): DirectStream;
  /** Called when a stream is over. */
  onIdle(): void;
  readonly places: CallPlaces | undefined;
}

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
  readonly #host: StreamsHost;

  constructor(host: StreamsHost) {
    this.#host = host;
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
    this.#host.places?.onCallOver();
    this.#host.onIdle();
  }

  #carry(notifies: boolean): OutgoingCallStream {
    const stream = this.#host.openStream();
    this.made++;
    return new OutgoingCallStream(stream, this.#host.settings, this, notifies);
  }
}
