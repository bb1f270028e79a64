/** State of a simulated network. Shares are between 0 and 1 and apply to each direction. */
export interface Conditions {
  /** One-way delay in milliseconds. */
  readonly delayMs: number;
  /** Maximum additional delay of a packet in milliseconds. Packets stay in order. */
  readonly jitterMs: number;
  /**
   * Share of packets that are lost. With TCP, lost bytes and all bytes after them arrive one round trip later, because
   * TCP retransmits.
   */
  readonly loss: number;
  /** Share of packets that arrive twice. UDP only. */
  readonly duplicate: number;
  /** Share of packets that arrive up to 10 ms after packets sent later. UDP only. */
  readonly reorder: number;
  /** Share of packets in which one bit is flipped. With TCP, the share of chunks read. */
  readonly corrupt: number;
  /** Rate from the client to the server in bytes per second. */
  readonly upBytesPerSecond: number;
  /** Rate from the server to the client in bytes per second. */
  readonly downBytesPerSecond: number;
  /**
   * Maximum number of bytes that wait for the rate limit in each direction. Beyond that, UDP packets are lost, and TCP
   * senders receive backpressure.
   */
  readonly queueBytes: number;
  /** If true, all packets are lost without an error. */
  readonly blackout: boolean;
  /** If true, UDP packets are lost, as behind some firewalls. */
  readonly udpBlocked: boolean;
}

/** A network that forwards everything at once. */
export const FAIR: Conditions = {
  delayMs: 0,
  jitterMs: 0,
  loss: 0,
  duplicate: 0,
  reorder: 0,
  corrupt: 0,
  upBytesPerSecond: Number.POSITIVE_INFINITY,
  downBytesPerSecond: Number.POSITIVE_INFINITY,
  queueBytes: 256 * 1024,
  blackout: false,
  udpBlocked: false,
};

/** A network that drops everything without an error. */
export const BLACKOUT: Conditions = { ...FAIR, blackout: true };

/** Returns complete network conditions, with defaults for missing ones. Throws `TypeError` for an invalid condition. */
export function completeConditions(conditions: Partial<Conditions>): Conditions {
  const complete = { ...FAIR, ...conditions };
  for (const [name, value] of Object.entries(complete)) {
    if (!(name in FAIR))
      throw new TypeError(`unknown network condition ${name}; the conditions are ${Object.keys(FAIR).join(", ")}`);
    const { most, least } = rangeOf(name);
    if (typeof value === "number" && !(value >= least && value <= most)) {
      throw new TypeError(`${name} of a network must be from ${least} to ${most}, not ${value}`);
    }
  }
  return complete;
}

const SHARES: ReadonlySet<string> = new Set(["loss", "duplicate", "reorder", "corrupt"]);

function rangeOf(name: string): { readonly least: number; readonly most: number } {
  if (SHARES.has(name)) return { least: 0, most: 1 };
  if (name.endsWith("Ms")) return { least: 0, most: 60_000 };
  return { least: 1, most: Number.POSITIVE_INFINITY };
}
