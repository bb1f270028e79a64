import { OutgoingCallStream } from "../call/outgoing-stream.js";
import type { CarrierSettings } from "../call/carrier.js";
import type { DirectStream } from "../transport/session.js";

/** The streams that this side opens for one call each. */
export class OwnStreams {
  /** Those that are not over. */
  made = 0;
  /** Called when a stream with a notification is over. */
  onConfirmed: (() => void) | undefined;
  /** Those with notifications that the peer may not have received yet. */
  private unconfirmed = 0;
  private readonly openStream: () => DirectStream;
  private readonly settings: CarrierSettings;
  private readonly onOver: () => void;

  constructor(openStream: () => DirectStream, settings: CarrierSettings, onOver: () => void) {
    this.openStream = openStream;
    this.settings = settings;
    this.onOver = () => {
      this.made--;
      onOver();
    };
  }

  /** Whether the peer has every notification that was sent on a stream of its own. */
  get confirmed(): boolean {
    return this.unconfirmed === 0;
  }

  /** The carrier of one call. Throws `RpcError` when no stream can be had. */
  open(): OutgoingCallStream {
    const stream = this.openStream();
    this.made++;
    return new OutgoingCallStream(stream, this.settings, this.onOver);
  }

  /** The carrier of one notification, which nothing answers. */
  openForNotify(): OutgoingCallStream {
    const stream = this.openStream();
    this.made++;
    this.unconfirmed++;
    return new OutgoingCallStream(stream, this.settings, () => {
      this.unconfirmed--;
      this.onConfirmed?.();
      this.onOver();
    });
  }
}
