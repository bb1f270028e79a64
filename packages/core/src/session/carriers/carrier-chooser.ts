import type { Carrier } from "../../call/carrier.js";
import type { DirectSession, SessionStats } from "../../transport/session.js";
import type { Traffic } from "../../transport/channel.js";
import { ExtraLanes, type LaneOpener } from "./extra-lanes.js";
import { LANES, type LayoutSource, MeasuredLayout } from "./measured-layout.js";
import type { OwnStreams } from "./own-streams.js";

/** The session, as far as the choice of a carrier needs it. */
export interface CarrierChooserHost extends LaneOpener {
  /** Its transport, which measures. */
  readonly direct: DirectSession;
  readonly settings: { readonly traffic: Traffic };
  readonly ownStreams: OwnStreams;
  /** Calls of this side in progress. */
  callsMade(): number;
  /** The session's first lane. */
  lane(): Carrier;
}

/** Picks what carries calls of single messages: the session's lane, several, or streams of their own, by what is measured. */
export class CarrierChooser implements LayoutSource {
  private readonly host: CarrierChooserHost;
  private readonly chooser: MeasuredLayout;
  private spread: ExtraLanes | undefined = undefined;

  constructor(host: CarrierChooserHost) {
    this.host = host;
    this.chooser = new MeasuredLayout(this);
  }

  pick(): Carrier {
    const { host } = this;
    const layout = this.chooser.next();
    if (layout === "stream") return host.ownStreams.open();
    if (layout === "lane") return host.lane();
    this.spread ??= new ExtraLanes(LANES - 1, host);
    return this.spread.next() ?? host.lane();
  }

  stats(): SessionStats {
    return (this.host.direct as Required<Pick<DirectSession, "stats">>).stats();
  }

  callsMade(): number {
    return this.host.callsMade();
  }

  bytesSent(): number {
    return this.host.settings.traffic.sentBytes;
  }
}
