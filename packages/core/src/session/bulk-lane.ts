import type { Lane } from "../call/lanes/lane.js";
import type { TransportSession } from "../transport/session.js";
import type { LaneSession } from "./lane-session.js";

/**
 * Round-trip time in milliseconds below which one stream is as fast as several, because its flow-control window (at
 * least 1 MiB) exceeds the bandwidth-delay product.
 */
const SHORT_MS = 10;
/** Number of calls between two measurements of the round-trip time; one measurement takes 4 µs over QUIC. */
const SAMPLE_CALLS = 64;
/** Size in bytes from which a message is faster on its own stream, even if the round-trip time is short. */
const HUGE_BYTES = 8 * 2 ** 20;

/**
 * A second shared stream (lane) of a session, for calls with large messages. It is used if the round-trip time is
 * short, because it is then faster than one stream for each call.
 */
export class BulkLane {
  private lane: Lane | undefined = undefined;
  private calls = 0;
  private isShort = false;
  private readonly session: LaneSession<TransportSession>;

  constructor(session: LaneSession<TransportSession>) {
    this.session = session;
  }

  /**
   * Returns the lane for a call. Undefined if the call should have its own stream, or if the transport does not measure
   * the round-trip time.
   *
   * @param bytes expected size of the larger message of the call
   */
  pick(bytes: number): Lane | undefined {
    if (this.calls++ % SAMPLE_CALLS === 0) {
      const { rttMs = SHORT_MS } = this.session.direct.stats?.() ?? {};
      this.isShort = rttMs < SHORT_MS;
    }
    if (bytes >= HUGE_BYTES || !this.isShort) return undefined;
    if (this.lane === undefined || this.lane.spent) {
      this.lane = this.session.newLane((onOver) => {
        if (this.lane === onOver) this.lane = undefined;
      });
    }
    return this.lane;
  }
}
