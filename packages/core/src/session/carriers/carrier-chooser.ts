import type { Carrier } from "../../call/carrier.js";
import type { DirectSession, SessionStats } from "../../transport/session.js";
import type { Traffic } from "../../transport/channel.js";
import { LANES, type LayoutSource, MeasuredLayout } from "./measured-layout.js";
import type { OwnStreams } from "./own-streams.js";
import type { Lane } from "../../call/lanes/lane.js";

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

/**
 * Chooses the carrier of calls with single messages by measurement: the session's lane, several lanes, or a stream for
 * each call.
 */
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

/** Opens lanes. */
interface LaneOpener {
  /** @param onOver called when the lane has ended */
  newLane(onOver: (lane: Lane) => void): Lane;
}

/** Additional lanes of a session, opened on demand and used in turn. */
class ExtraLanes {
  private readonly lanes: (Lane | undefined)[];
  private turn = 0;
  private readonly opener: LaneOpener;

  constructor(size: number, opener: LaneOpener) {
    this.lanes = Array.from({ length: size }, () => undefined);
    this.opener = opener;
  }

  /** The next in turn; undefined when it is the first lane's. */
  next(): Lane | undefined {
    this.turn = (this.turn + 1) % (this.lanes.length + 1);
    if (this.turn === this.lanes.length) return undefined;
    const { turn } = this;
    const lane = this.lanes[turn];
    if (lane !== undefined && !lane.spent) return lane;
    const opened = this.opener.newLane((over) => {
      if (this.lanes[turn] === over) this.lanes[turn] = undefined;
    });
    this.lanes[turn] = opened;
    return opened;
  }
}
