import type { Lane } from "../../call/lanes/lane.js";

/** Opens lanes. */
export interface LaneOpener {
  /** @param onOver called when the lane has ended */
  newLane(onOver: (lane: Lane) => void): Lane;
}

/** Lanes beside the session's first, opened as they are needed, for calls in turn. */
export class ExtraLanes {
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
