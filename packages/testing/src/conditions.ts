/** State of a network: what becomes of the packets on their way. Shares are from 0 to 1, and hold for each direction. */
export interface Conditions {
  /** Milliseconds that a packet takes, one way. */
  readonly delayMs: number;
  /** A packet takes up to so many milliseconds more; packets stay in order. */
  readonly jitterMs: number;
  /** Share of packets that are lost. TCP sends them again, so that its bytes come a round trip later, with all that follow. */
  readonly loss: number;
  /** Share of packets that arrive twice. Of UDP only. */
  readonly duplicate: number;
  /** Share of packets that arrive up to 10 ms later than others sent after them. Of UDP only. */
  readonly reorder: number;
  /** Share of packets (of TCP: of pieces read) in which a bit is turned over. */
  readonly corrupt: number;
  /** Bytes a second from the client to the server. */
  readonly upBytesPerSecond: number;
  /** Bytes a second from the server to the client. */
  readonly downBytesPerSecond: number;
  /** Bytes of a direction that may wait for its rate: further packets of UDP are lost, further bytes of TCP stay with their sender. */
  readonly queueBytes: number;
  /** Whether nothing passes, and nothing says so. */
  readonly blackout: boolean;
  /** Whether UDP does not pass, as behind some firewalls. */
  readonly udpBlocked: boolean;
}

/** A network that passes everything on at once. */
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

/** A network that passes nothing on, and does not say so. */
export const BLACKOUT: Conditions = { ...FAIR, blackout: true };

/** Completes what a program gives. Throws `TypeError` for what is no condition. */
export function completeConditions(given: Partial<Conditions>): Conditions {
  const complete = { ...FAIR, ...given };
  for (const [name, value] of Object.entries(complete)) {
    if (!(name in FAIR))
      throw new TypeError(`a network has no condition ${name}; it has ${Object.keys(FAIR).join(", ")}`);
    const { most, least } = rangeOf(name);
    if (typeof value === "number" && !(value >= least && value <= most)) {
      throw new TypeError(`${name} of a network is from ${least} to ${most}, not ${value}`);
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
