import type { OutgoingItems } from "../client/client-stream.js";
import type { TransportSession } from "../transport/session.js";
import type { OutgoingCall } from "../call/carrier.js";
import type { StreamedCall } from "../client/server-stream.js";
import type { LaneSession } from "./lane-session.js";

/**
 * Measurements of the connection under a session, since its start. A value is undefined if the runtime or transport
 * does not provide it.
 */
export interface ConnectionStats {
  /** The smoothed round-trip time of the connection or, if the transport has none, of the session's last ping. */
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
  /** Bytes that the peer may send before this side has read them, on all QUIC streams together. */
  readonly receiveWindow: number | undefined;
  /** Lanes that this side has opened: streams that many calls share. */
  readonly lanes: number | undefined;
  /** Calls of this side in lanes that are not over. */
  readonly laneCalls: number | undefined;
  /** Calls of this side with streams of their own that are not over. */
  readonly streamCalls: number | undefined;
  /** Bytes of messages that the peer can still accept, over all calls that stream to it in lanes. Undefined if there are none. */
  readonly sendCredit: number | undefined;
  /** Bytes of messages that the peer may still send, over all calls that stream from it in lanes. Undefined if there are none. */
  readonly receiveCredit: number | undefined;
  /** Bytes that this side holds for the peer, out of `limits.maxSessionBytes`: mostly unread messages. */
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

/**
 * Reads the measurements of the connection under a session, over any transport, and the session's own about its lanes.
 * Never rejects.
 */
export async function sessionStats(session: MeasuredSession): Promise<ConnectionStats> {
  const { transport, rttMs } = session;
  const found = await measurements(transport);
  const stats = {
    ...Object.fromEntries(OF_QUIC.map((name) => [name, numberOf(found[name])])),
    ...laneStats(session),
  } as { -readonly [Name in keyof ConnectionStats]: ConnectionStats[Name] };
  for (const [name, own] of Object.entries(OF_WEB)) stats[own] ??= numberOf(found[name]);
  // No measurement exists before the first answer.
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

/** Measurements of a session's lanes, streams and credit, by the session itself. A session without lanes knows none of it. */
export interface LaneStats {
  readonly lanes: number | undefined;
  readonly laneCalls: number | undefined;
  readonly streamCalls: number | undefined;
  readonly sendCredit: number | undefined;
  readonly receiveCredit: number | undefined;
  readonly heldBytes: number | undefined;
}

type Parts = Partial<Pick<LaneSession<TransportSession>, "lanes" | "ownStreams" | "budget">>;

/** Reads the tables that a session has anyway: nothing is counted between two readings. */
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

/** Returns the streaming parts of a call, if it streams. */
function streamed(call: OutgoingCall): Partial<Pick<StreamedCall, "items" | "receiver">> {
  return call as Partial<StreamedCall>;
}

/** Returns the sum of the known values; undefined if none is known. A sender may overdraw its credit by one message, and then has none. */
function sum(credits: readonly (number | undefined)[]): number | undefined {
  const known = credits.filter((credit) => credit !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, credit) => all + Math.max(0, credit), 0);
}
