import type { OutgoingItems } from "../client/client-stream.js";
import type { TransportSession } from "../transport/session.js";
import type { OutgoingCall } from "../call/carrier.js";
import type { StreamedCall } from "../client/server-stream.js";
import type { LaneSession } from "./lane-session.js";

/**
 * Measurements of a session and its connection since its start. A value is undefined if the runtime or transport does
 * not provide it.
 */
export interface ConnectionStats {
  /**
   * Smoothed round-trip time of the connection in milliseconds. If the transport does not measure it: the round-trip
   * time of the session's last ping.
   */
  readonly rttMs: number | undefined;
  readonly minRttMs: number | undefined;
  /** Congestion window: maximum number of unacknowledged bytes in flight. */
  readonly congestionWindow: number | undefined;
  readonly sentPackets: number | undefined;
  readonly lostPackets: number | undefined;
  /** Number of packets that were sent a second time before they were known to be lost. */
  readonly copiedPackets: number | undefined;
  readonly sentBytes: number | undefined;
  readonly receivedBytes: number | undefined;
  readonly sentDatagrams: number | undefined;
  readonly receivedDatagrams: number | undefined;
  readonly openStreams: number | undefined;
  /** Number of streams that wait because the peer's limit of streams is reached. */
  readonly waitingStreams: number | undefined;
  /** Number of bytes that the peer may send before this side has read them, on all QUIC streams together. */
  readonly receiveWindow: number | undefined;
  /** Number of open lanes of this side. A lane is a stream that many calls share. */
  readonly lanes: number | undefined;
  /** Number of calls in progress that this side has made on lanes. */
  readonly laneCalls: number | undefined;
  /** Number of calls in progress that this side has made on their own streams. */
  readonly streamCalls: number | undefined;
  /**
   * Number of bytes that the peer still accepts from this side's streaming calls on lanes, in total. Undefined if there
   * are no such calls.
   */
  readonly sendCredit: number | undefined;
  /**
   * Number of bytes that the peer may still send to this side's streaming calls on lanes, in total. Undefined if there
   * are no such calls.
   */
  readonly receiveCredit: number | undefined;
  /** Memory that this side uses for the peer, in bytes, of at most `limits.maxSessionBytes`: mostly unread messages. */
  readonly heldBytes: number | undefined;
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
  "receiveWindow",
] as const;

/** Names of the measurements in W3C WebTransport §6.11. */
const OF_WEB: Readonly<Record<string, keyof ConnectionStats>> = {
  smoothedRtt: "rttMs",
  minRtt: "minRttMs",
  packetsSent: "sentPackets",
  packetsLost: "lostPackets",
  bytesSent: "sentBytes",
  bytesReceived: "receivedBytes",
};

export interface MeasuredSession {
  readonly transport: TransportSession;
  readonly rttMs?: number | undefined;
}

/** Returns measurements of a session and its connection, over any transport. Never rejects. */
export async function sessionStats(session: MeasuredSession): Promise<ConnectionStats> {
  const { transport, rttMs } = session;
  const measured = await measurements(transport);
  const stats = {
    ...Object.fromEntries(OF_QUIC.map((name) => [name, numberOf(measured[name])])),
    ...laneStats(session),
  } as { -readonly [Name in keyof ConnectionStats]: ConnectionStats[Name] };
  for (const [name, statName] of Object.entries(OF_WEB)) stats[statName] ??= numberOf(measured[name]);
  // 0 means that nothing was measured yet.
  stats.rttMs = stats.rttMs || rttMs;
  stats.minRttMs ||= undefined;
  return stats;
}

async function measurements(transport: TransportSession): Promise<Readonly<Record<string, unknown>>> {
  const { stats, getStats } = transport as { stats?: () => object; getStats?: () => Promise<object> };
  try {
    const result = stats === undefined ? await getStats?.call(transport) : stats.call(transport);
    return (result ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The measurements that the session itself provides. They are undefined for a session without lanes. */
type LaneStats = Pick<
  ConnectionStats,
  "lanes" | "laneCalls" | "streamCalls" | "sendCredit" | "receiveCredit" | "heldBytes"
>;

type Parts = Partial<Pick<LaneSession<TransportSession>, "lanes" | "ownStreams" | "budget">>;

/**
 * Returns the measurements of a session's lanes, streams and credit. Computes them from the session's tables, so that
 * calls do not have to update counters.
 */
function laneStats(session: object): LaneStats {
  const { lanes, ownStreams, budget } = session as Parts;
  const open = lanes && [...lanes].filter(({ ended }) => !ended);
  const calls = open?.flatMap(({ outgoing }) => outgoing.live()) ?? [];
  return {
    lanes: open?.length,
    laneCalls: open && calls.length,
    streamCalls: ownStreams?.made,
    sendCredit: sum(calls.map((call) => (streamed(call).items as OutgoingItems | undefined)?.flow.credit)),
    receiveCredit: sum(calls.map((call) => streamed(call).receiver?.flow?.credit)),
    heldBytes: budget?.held,
  };
}

/** Returns `call` with the parts that send and receive items, which only streaming calls have. */
function streamed(call: OutgoingCall): Partial<Pick<StreamedCall, "items" | "receiver">> {
  return call as Partial<StreamedCall>;
}

/**
 * Returns the sum of the defined values; undefined if there is none. A negative credit counts as 0, because a sender
 * may exceed its credit by one message.
 */
function sum(credits: readonly (number | undefined)[]): number | undefined {
  const known = credits.filter((credit) => credit !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, credit) => all + Math.max(0, credit), 0);
}
