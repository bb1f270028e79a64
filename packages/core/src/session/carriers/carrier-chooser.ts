import type { Carrier } from "../../call/carrier.js";
import { LANES, type LayoutSource, MeasuredLayout } from "./measured-layout.js";
import type { OwnStreams } from "./own-streams.js";
import type { Lane } from "../../call/lanes/lane.js";

/** The session, as far as the choice of a carrier needs it. */
export interface CarrierChooserHost extends LaneOpener, LayoutSource {
  readonly ownStreams: OwnStreams;
  /** The session's first lane. */
  lane(): Carrier;
}

/**
 * Round trip in milliseconds below which one stream is as fast as several: its window, 1 MiB or more, is more than the
 * path holds.
 */
const SHORT_MS = 10;
/** Messages of this many bytes travel faster on a stream of their own, even on a short path. */
const HUGE_BYTES = 8 * 2 ** 20;

/**
 * Chooses the carrier of calls with single messages by measurement: the session's lane, several lanes, or a stream for
 * each call. Large messages have a lane of their own on short paths, which is faster than a stream for each.
 */
export class CarrierChooser {
  private readonly host: CarrierChooserHost;
  private readonly chooser: MeasuredLayout;
  private spread: ExtraLanes | undefined = undefined;

  constructor(host: CarrierChooserHost) {
    this.host = host;
    this.chooser = new MeasuredLayout(host);
  }

  /** @param bulk expected bytes of the larger message, if it is large; otherwise 0 */
  pick(bulk = 0): Carrier {
    const { host } = this;
    const layout = this.chooser.next();
    const isShared = bulk === 0 ? layout !== "stream" : bulk < HUGE_BYTES && layout === "lane" && this.isPathShort();
    if (!isShared) return host.ownStreams.open();
    if (bulk === 0 && layout === "lane") return host.lane();
    this.spread ??= new ExtraLanes(host);
    return this.spread.next(bulk > 0) ?? host.lane();
  }

  private isPathShort(): boolean {
    return this.chooser.stats().rttMs < SHORT_MS;
  }
}

/** Opens lanes. */
interface LaneOpener {
  /** @param onOver called when the lane has ended */
  newLane(onOver: (lane: Lane) => void): Lane;
}

/** Additional lanes of a session, opened on demand and used in turn. */
class ExtraLanes {
  private readonly lanes: (Lane | undefined)[] = [];
  private turn = 0;
  private readonly opener: LaneOpener;

  constructor(opener: LaneOpener) {
    this.opener = opener;
  }

  /** The next in turn, or the first for large messages; undefined when it is the turn of the session's first lane. */
  next(isBulk: boolean): Lane | undefined {
    const { lanes } = this;
    const turn = isBulk ? 1 : (this.turn = (this.turn + 1) % LANES);
    if (turn === 0) return undefined;
    const lane = lanes[turn];
    if (lane !== undefined && !lane.spent) return lane;
    return (lanes[turn] = this.opener.newLane((over) => {
      if (lanes[turn] === over) lanes[turn] = undefined;
    }));
  }
}
