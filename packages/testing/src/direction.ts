import type { Conditions } from "./conditions.js";

/** Maximum delay in milliseconds of a packet that is reordered or duplicated. */
const LATE_MS = 10;

export interface PacketFate {
  /** Arrival times of the packet. Empty if it is lost, two times if it is duplicated. */
  readonly arrivalTimes: readonly number[];
  /** Relative position of the bit that is flipped, from 0 to 1, or undefined for none. */
  readonly damage: number | undefined;
}

const LOST: PacketFate = { arrivalTimes: [], damage: undefined };

/**
 * One direction of a simulated link, which computes when packets arrive. It has no clock: times are passed in, in
 * milliseconds. Each packet uses the same number of random numbers, so that a seed loses the same packets under all
 * conditions.
 */
export class LinkDirection {
  private readonly random: () => number;
  /** Time in milliseconds at which the last byte has been sent at the rate of the link. */
  private sentAt = 0;
  /** Arrival time in milliseconds of the last packet that was not reordered. */
  private lastArrival = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  /** Returns the number of bytes that wait for the rate limit. */
  waiting(now: number, bytesPerSecond: number): number {
    return bytesPerSecond === Number.POSITIVE_INFINITY ? 0 : (Math.max(0, this.sentAt - now) * bytesPerSecond) / 1000;
  }

  /** Returns what happens to a UDP packet. */
  pass(size: number, now: number, conditions: Conditions, bytesPerSecond: number): PacketFate {
    const { random } = this;
    const [loss, corrupt, where, reorder] = [random(), random(), random(), random()] as const;
    const [duplicate, jitter, lateness] = [random(), random(), random()] as const;
    if (conditions.blackout || conditions.udpBlocked || loss < conditions.loss) return LOST;
    if (this.waiting(now, bytesPerSecond) + size > conditions.queueBytes) return LOST;
    const dueAt = this.transmit(size, now, bytesPerSecond) + conditions.delayMs + jitter * conditions.jitterMs;
    const arrivalAt = reorder < conditions.reorder ? dueAt + lateness * LATE_MS : this.inOrder(dueAt);
    const arrivalTimes = duplicate < conditions.duplicate ? [arrivalAt, arrivalAt + lateness * LATE_MS] : [arrivalAt];
    return { arrivalTimes, damage: corrupt < conditions.corrupt ? where : undefined };
  }

  /** Returns the arrival time of TCP bytes that are sent in `packets` packets. */
  passStream(
    size: number,
    packets: number,
    now: number,
    conditions: Conditions,
    bytesPerSecond: number,
  ): { readonly at: number; readonly damage: number | undefined } {
    const { random } = this;
    const [corrupt, where, jitter] = [random(), random(), random()] as const;
    let retransmissions = 0;
    // A packet that is sent again may be lost again.
    for (let i = 0; i < packets; i++)
      for (let attempt = 0; attempt < 8 && random() < conditions.loss; attempt++) retransmissions++;
    const retransmissionMs = retransmissions * 2 * conditions.delayMs;
    const dueAt =
      this.transmit(size, now, bytesPerSecond) + conditions.delayMs + jitter * conditions.jitterMs + retransmissionMs;
    return { at: this.inOrder(dueAt), damage: corrupt < conditions.corrupt ? where : undefined };
  }

  private transmit(size: number, now: number, bytesPerSecond: number): number {
    this.sentAt = Math.max(this.sentAt, now) + (size * 1000) / bytesPerSecond;
    return this.sentAt;
  }

  private inOrder(dueAt: number): number {
    this.lastArrival = Math.max(this.lastArrival, dueAt);
    return this.lastArrival;
  }
}
