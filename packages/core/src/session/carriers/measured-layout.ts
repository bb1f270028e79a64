import type { Traffic } from "../../transport/channel.js";
import type { DirectSession, SessionStats } from "../../transport/session.js";

/** How calls with single messages travel: in one lane, in several lanes in turn, or each on its own stream. */
export type Layout = "lane" | "lanes" | "stream";

/** Number of lanes to spread calls over if too many would wait for a lost packet in one. */
export const LANES = 4;
/** Approximate number of bytes in a packet. */
const PACKET_BYTES = 1200;
/** Share of packets lost below which it does not matter how calls travel. */
const LITTLE_LOSS = 0.01;
/**
 * Packets in flight up to which the layout does not matter (`SMALL_FLIGHT`), because few calls wait for each. From the
 * second number on, calls are better on their own streams; in between, several lanes are as good and cheaper.
 */
const SMALL_FLIGHT = 4;
const LARGE_FLIGHT = 12;
/** Calls between two measurements. */
const SAMPLE_CALLS = 256;
/** Packets sent that a measurement of loss needs. */
const SAMPLE_PACKETS = 200;

/** Returns the layout for a flight of this many bytes. */
export function layoutFor(loss: number, flight: number): Layout {
  const packets = flight / PACKET_BYTES;
  if (loss < LITTLE_LOSS || packets <= SMALL_FLIGHT) return "lane";
  return packets < LARGE_FLIGHT ? "lanes" : "stream";
}

/** The session whose calls are measured. */
export interface LayoutSource {
  /** Its transport, which measures. */
  readonly direct: Pick<DirectSession, "stats">;
  readonly settings: { readonly traffic: Pick<Traffic, "sentBytes"> };
  /** Number of calls in progress. */
  callsMade(): number;
}

/** Measures loss and chooses the layout again after a number of calls; in between, a call costs a counter. */
export class MeasuredLayout {
  private layout: Layout = "lane";
  private calls = 0;
  private loss = 0;
  private sentPackets = 0;
  private lostPackets = 0;
  private bytesSent = 0;
  private readonly source: LayoutSource;

  constructor(source: LayoutSource) {
    this.source = source;
  }

  /** The layout for the next call. */
  next(): Layout {
    if (++this.calls === SAMPLE_CALLS) this.measure();
    return this.layout;
  }

  /** Current measurements of the transport. */
  stats(): SessionStats {
    return (this.source.direct as Required<LayoutSource["direct"]>).stats();
  }

  private measure(): void {
    const { sentPackets, lostPackets } = this.stats();
    const sent = sentPackets - this.sentPackets;
    if (sent >= SAMPLE_PACKETS) {
      this.loss = (lostPackets - this.lostPackets) / sent;
      this.sentPackets = sentPackets;
      this.lostPackets = lostPackets;
    }
    const bytes = this.source.settings.traffic.sentBytes;
    const flight = ((bytes - this.bytesSent) / this.calls) * this.source.callsMade();
    this.calls = 0;
    this.bytesSent = bytes;
    this.layout = layoutFor(this.loss, flight);
  }
}
