import type { Carrier } from "../../call/carrier.js";
import type { Lane } from "../../call/lanes/lane.js";
import type { SessionStats } from "../../transport/session.js";
import { ExtraLanes } from "./extra-lanes.js";
import { LANES, MeasuredLayout } from "./measured-layout.js";

/** The session, as far as the choice of a carrier needs it. */
export interface CarrierChooserHost {
  stats(): SessionStats;
  /** Calls of this side in progress. */
  callsMade(): number;
  bytesSent(): number;
  /** The session's first lane. */
  lane(): Carrier;
  /** Another one. */
  openLane(onOver: (lane: Lane) => void): Lane;
  openStream(): Carrier;
}

/** Picks what carries calls of single messages: the session's lane, several, or streams of their own, by what is measured. */
export class CarrierChooser {
  private readonly host: CarrierChooserHost;
  private readonly chooser: MeasuredLayout;
  private readonly spread: ExtraLanes;

  constructor(host: CarrierChooserHost) {
    this.host = host;
    this.chooser = new MeasuredLayout(host);
    this.spread = new ExtraLanes(LANES - 1, (onOver) => host.openLane(onOver));
  }

  pick(): Carrier {
    const layout = this.chooser.next();
    if (layout === "stream") return this.host.openStream();
    return (layout === "lanes" && this.spread.next()) || this.host.lane();
  }
}
