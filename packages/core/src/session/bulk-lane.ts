import type { Lane } from "../call/lanes/lane.js";
import type { TransportSession } from "../transport/session.js";
import type { LaneSession } from "./lane-session.js";

/**
 * Round trip in milliseconds below which one stream is as fast as several: its window, 1 MiB or more, is more than the
 * path holds.
 */
const SHORT_MS = 10;
/** Calls between two measurements of the path: one takes 4 µs over QUIC. */
const SAMPLE_CALLS = 64;
/** Messages of this many bytes travel faster on a stream of their own, even on a short path. */
const HUGE_BYTES = 8 * 2 ** 20;

/** A second lane of a session, for calls with large messages on short paths: it is faster than a stream for each. */
export class BulkLane {
  private lane: Lane | undefined = undefined;
  private calls = 0;
  private isShort = false;
  private readonly session: LaneSession<TransportSession>;

  constructor(session: LaneSession<TransportSession>) {
    this.session = session;
  }

  /**
   * Returns the lane for a call; undefined if the call should have its own stream, or the transport does not measure the path.
   * @param bytes expected size of the larger of its messages
   */
  pick(bytes: number): Lane | undefined {
    if (this.calls++ % SAMPLE_CALLS === 0) {
      const { rttMs = SHORT_MS } = this.session.direct.stats?.() ?? {};
      this.isShort = rttMs < SHORT_MS;
    }
    if (bytes >= HUGE_BYTES || !this.isShort) return undefined;
    if (this.lane === undefined || this.lane.spent) {
      this.lane = this.session.newLane((over) => {
        if (this.lane === over) this.lane = undefined;
      });
    }
    return this.lane;
  }
}
