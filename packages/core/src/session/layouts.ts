import type { Carrier } from "../call/carrier.js";
import type { Lane } from "../call/lane.js";
import type { SessionStats } from "../transport/session.js";
import { LaneSpread } from "./lane-spread.js";
import { LANES, LayoutChooser } from "./layout.js";

/** What the choice of a carrier needs of its session. */
export interface LayoutsHost {
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
export class Layouts {
  private readonly host: LayoutsHost;
  private readonly chooser: LayoutChooser;
  private readonly spread: LaneSpread;

  constructor(host: LayoutsHost) {
    this.host = host;
    this.chooser = new LayoutChooser(host);
    this.spread = new LaneSpread(LANES - 1, (onOver) => host.openLane(onOver));
  }

  /** Calls on the lanes beside the first that are not over. */
  get callsMade(): number {
    return this.spread.callsMade;
  }

  pick(): Carrier {
    const layout = this.chooser.next();
    if (layout === "stream") return this.host.openStream();
    return (layout === "lanes" && this.spread.next()) || this.host.lane();
  }
}
