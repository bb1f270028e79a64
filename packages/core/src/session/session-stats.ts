import type { TransportSession } from "../transport/session.js";

/** Measurements of the connection under a session, since its start. What its runtime or transport does not tell is undefined. */
export interface ConnectionStats {
  /** The smoothed round-trip time of the connection; where there is none, that of the session's last ping. */
  readonly rttMs: number | undefined;
  readonly minRttMs: number | undefined;
  /** Bytes that may be on their way before they are acknowledged. */
  readonly congestionWindow: number | undefined;
  readonly sentPackets: number | undefined;
  readonly lostPackets: number | undefined;
  /** Packets that were sent a second time before they were known to be lost. */
  readonly copiedPackets: number | undefined;
  readonly sentBytes: number | undefined;
  readonly receivedBytes: number | undefined;
  readonly sentDatagrams: number | undefined;
  readonly receivedDatagrams: number | undefined;
  readonly openStreams: number | undefined;
  /** Streams that wait for the peer's limit. */
  readonly waitingStreams: number | undefined;
}

const OF_QUIC = [
  "rttMs",
  "minRttMs",
  "congestionWindow",
  "sentPackets",
  "lostPackets",
  "copiedPackets",
  "sentBytes",
  "receivedBytes",
  "sentDatagrams",
  "receivedDatagrams",
  "openStreams",
  "waitingStreams",
] as const;

/** The names of W3C WebTransport §6.11. */
const OF_WEB: Readonly<Record<string, keyof ConnectionStats>> = {
  smoothedRtt: "rttMs",
  minRtt: "minRttMs",
  packetsSent: "sentPackets",
  packetsLost: "lostPackets",
  bytesSent: "sentBytes",
  bytesReceived: "receivedBytes",
};

/** The part of a session that is asked. */
export interface MeasuredSession {
  readonly transport: TransportSession;
  readonly rttMs?: number | undefined;
}

/** Reads what the connection under a session, over whichever transport, has measured. Never rejects. */
export async function sessionStats({ transport, rttMs }: MeasuredSession): Promise<ConnectionStats> {
  const found = await measurements(transport);
  const stats = Object.fromEntries(OF_QUIC.map((name) => [name, numberOf(found[name])])) as {
    -readonly [Name in keyof ConnectionStats]: ConnectionStats[Name];
  };
  for (const [name, own] of Object.entries(OF_WEB)) stats[own] ??= numberOf(found[name]);
  // Before the first answer nothing is measured.
  stats.rttMs = stats.rttMs || rttMs;
  stats.minRttMs ||= undefined;
  return stats;
}

async function measurements(transport: TransportSession): Promise<Readonly<Record<string, unknown>>> {
  const { stats, getStats } = transport as { stats?: () => object; getStats?: () => Promise<object> };
  try {
    const found = stats === undefined ? await getStats?.call(transport) : stats.call(transport);
    return (found ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
