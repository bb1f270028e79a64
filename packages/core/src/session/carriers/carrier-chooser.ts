import type { Carrier } from "../../call/carrier.js";
import type { TransportSession } from "../../transport/session.js";
import type { LaneSession } from "../lane-session.js";
import { LANES, MeasuredLayout } from "./measured-layout.js";
import type { Lane } from "../../call/lanes/lane.js";

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
  private readonly session: LaneSession<TransportSession>;
  private readonly chooser: MeasuredLayout;
  private spread: ExtraLanes | undefined = undefined;

  constructor(session: LaneSession<TransportSession>) {
    this.session = session;
    this.chooser = new MeasuredLayout(session);
  }

  /** @param bulk expected bytes of the larger message, if it is large; otherwise 0 */
  pick(bulk = 0): Carrier {
    const { session } = this;
    const layout = this.chooser.next();
    const isShared = bulk === 0 ? layout !== "stream" : bulk < HUGE_BYTES && layout === "lane" && this.isPathShort();
    if (!isShared) return session.ownStreams.open();
    if (bulk === 0 && layout === "lane") return session.lane();
    this.spread ??= new ExtraLanes(session);
    return this.spread.next(bulk > 0) ?? session.lane();
  }

  private isPathShort(): boolean {
    return this.chooser.stats().rttMs < SHORT_MS;
  }
}

/** Additional lanes of a session, opened on demand and used in turn. */
class ExtraLanes {
  private readonly lanes: (Lane | undefined)[] = [];
  private turn = 0;
  private readonly session: LaneSession<TransportSession>;

  constructor(session: LaneSession<TransportSession>) {
    this.session = session;
  }

  /** The next in turn, or the first for large messages; undefined when it is the turn of the session's first lane. */
  next(isBulk: boolean): Lane | undefined {
    const { lanes } = this;
    const turn = isBulk ? 1 : (this.turn = (this.turn + 1) % LANES);
    if (turn === 0) return undefined;
    const lane = lanes[turn];
    if (lane !== undefined && !lane.spent) return lane;
    return (lanes[turn] = this.session.newLane((over) => {
      if (lanes[turn] === over) lanes[turn] = undefined;
    }));
  }
}
