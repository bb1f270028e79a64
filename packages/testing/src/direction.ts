import type { Conditions } from "./conditions.js";

/** The longest time by which a packet that is reordered or sent twice is late, in milliseconds. */
const LATE_MS = 10;

/** Arrivals of one packet: none where it is lost, two where it is sent twice. */
export interface Passage {
  /** Times at which it arrives. */
  readonly arrivals: readonly number[];
  /** Where in the packet a bit is turned over, from 0 to 1; undefined: nowhere. */
  readonly damage: number | undefined;
}

const LOST: Passage = { arrivals: [], damage: undefined };

/**
 * One direction of a link: says when packets arrive. It has no clock and no timer: time is passed in, in milliseconds. Every packet draws the same
 * count of random numbers, so that the same seed loses the same packets under other conditions too.
 */
export class Direction {
  private readonly random: () => number;
  /** When the last byte given so far has been sent, at the rate of the link. */
  private sentAt = 0;
  /** When the last packet that stays in order arrives. */
  private lastArrival = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  /** Bytes that wait for the rate. */
  waiting(now: number, bytesPerSecond: number): number {
    return bytesPerSecond === Number.POSITIVE_INFINITY ? 0 : (Math.max(0, this.sentAt - now) * bytesPerSecond) / 1000;
  }

  /** Returns what becomes of a packet of UDP. */
  pass(size: number, now: number, conditions: Conditions, bytesPerSecond: number): Passage {
    const { random } = this;
    const [loss, corrupt, where, reorder] = [random(), random(), random(), random()] as const;
    const [duplicate, jitter, late] = [random(), random(), random()] as const;
    if (conditions.blackout || conditions.udpBlocked || loss < conditions.loss) return LOST;
    if (this.waiting(now, bytesPerSecond) + size > conditions.queueBytes) return LOST;
    const due = this.transmit(size, now, bytesPerSecond) + conditions.delayMs + jitter * conditions.jitterMs;
    const arrival = reorder < conditions.reorder ? due + late * LATE_MS : this.inOrder(due);
    const arrivals = duplicate < conditions.duplicate ? [arrival, arrival + late * LATE_MS] : [arrival];
    return { arrivals, damage: corrupt < conditions.corrupt ? where : undefined };
  }

  /** Returns when bytes of TCP arrive, which are in so many packets. */
  passStream(
    size: number,
    packets: number,
    now: number,
    conditions: Conditions,
    bytesPerSecond: number,
  ): { readonly at: number; readonly damage: number | undefined } {
    const { random } = this;
    const [corrupt, where, jitter] = [random(), random(), random()] as const;
    let lost = 0;
    // A packet that is sent again may be lost again.
    for (let i = 0; i < packets; i++) for (let again = 0; again < 8 && random() < conditions.loss; again++) lost++;
    const again = lost * 2 * conditions.delayMs;
    const due = this.transmit(size, now, bytesPerSecond) + conditions.delayMs + jitter * conditions.jitterMs + again;
    return { at: this.inOrder(due), damage: corrupt < conditions.corrupt ? where : undefined };
  }

  private transmit(size: number, now: number, bytesPerSecond: number): number {
    this.sentAt = Math.max(this.sentAt, now) + (size * 1000) / bytesPerSecond;
    return this.sentAt;
  }

  private inOrder(due: number): number {
    this.lastArrival = Math.max(this.lastArrival, due);
    return this.lastArrival;
  }
}
