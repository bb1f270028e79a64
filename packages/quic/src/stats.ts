import type { DatagramStats } from "./datagrams.js";
import { ENDPOINT_STATS, SESSION_STATS } from "./native-layout.js";

/** Counters of a session since its start. Sizes are in bytes, times in milliseconds. */
export interface SessionStats {
  /** Smoothed round-trip time in milliseconds (RFC 9002 §5.3). */
  readonly rttMs: number;
  readonly minRttMs: number;
  readonly congestionWindow: number;
  /** Largest UDP payload in bytes that the path is known to carry. */
  readonly mtu: number;
  readonly sentPackets: number;
  readonly lostPackets: number;
  /** Number of packets that were sent a second time because of the option `redundancy`. */
  readonly copiedPackets: number;
  /** Number of times that the congestion window was reduced. */
  readonly congestionEvents: number;
  /** Number of bytes sent as UDP payload, including retransmissions and acknowledgements. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly lostBytes: number;
  readonly sentUdpDatagrams: number;
  readonly receivedUdpDatagrams: number;
  /** Number of QUIC datagrams that were sent (RFC 9221). */
  readonly sentDatagrams: number;
  readonly receivedDatagrams: number;
  /** Number of open streams of both sides, without those that wait for the stream limit. */
  readonly openStreams: number;
  /** Number of streams that wait because the peer's stream limit is reached. */
  readonly waitingStreams: number;
  /**
   * Number of bytes that the peer may currently send before the application reads them; see the option `receiveWindow`.
   */
  readonly receiveWindow: number;
  /**
   * TLS group of the key exchange by its IANA name: `X25519MLKEM768` (hybrid post-quantum) if both sides support it,
   * otherwise `x25519`, `secp256r1` or `secp384r1`. Empty before the handshake.
   */
  readonly keyExchangeGroup: string;
}

/** Names of TLS groups by their numbers (IANA, TLS Supported Groups). */
const GROUPS: Readonly<Record<number, string>> = {
  0: "",
  0x17: "secp256r1",
  0x18: "secp384r1",
  0x1d: "x25519",
  0x11ec: "X25519MLKEM768",
};

/** Counters of an endpoint since it was bound. */
export interface EndpointStats {
  /** Number of sessions, including those that are being dialled. */
  readonly sessions: number;
  /** Number of connections from clients that are not sessions yet; see the option `maxHandshakes`. */
  readonly handshakes: number;
  /** Number of clients that were refused because of a limit. */
  readonly refused: number;
  /** Number of clients that had to prove their address (Retry). */
  readonly retried: number;
  /** Number of handshakes of clients that did not lead to a session. */
  readonly failedHandshakes: number;
  /** Size in bytes of the socket's buffers, as granted by the system. */
  readonly receiveBuffer: number;
  readonly sendBuffer: number;
  /** Size in bytes that was requested for each of the socket's buffers. */
  readonly askedBuffer: number;
  /** Advice if the system granted smaller buffers than requested, otherwise undefined. */
  readonly bufferAdvice: string | undefined;
}

function named<Name extends string>(names: readonly Name[], numbers: readonly number[]): Record<Name, number> {
  return Object.fromEntries(names.map((name, index) => [name, numbers[index] ?? 0])) as Record<Name, number>;
}

export function statsFromNumbers(numbers: readonly number[] = []): SessionStats {
  const stats = named(SESSION_STATS, numbers);
  return { ...stats, keyExchangeGroup: GROUPS[stats.keyExchangeGroup] ?? String(stats.keyExchangeGroup) };
}

export function endpointStats(sessions: number, numbers: readonly number[] = []): EndpointStats {
  const stats = named(ENDPOINT_STATS, numbers);
  return { ...stats, sessions, bufferAdvice: bufferAdvice(stats) };
}

function bufferAdvice(stats: { receiveBuffer: number; sendBuffer: number; askedBuffer: number }): string | undefined {
  const { receiveBuffer, sendBuffer, askedBuffer } = stats;
  const short = [
    ...(receiveBuffer < askedBuffer ? ["net.core.rmem_max"] : []),
    ...(sendBuffer < askedBuffer ? ["net.core.wmem_max"] : []),
  ];
  if (short.length === 0) return undefined;
  const remedy =
    process.platform === "linux"
      ? `sysctl -w ${short.map((name) => `${name}=${askedBuffer}`).join(" ")}`
      : "raise the system's limit of UDP socket buffers";
  return `the system granted UDP buffers of ${receiveBuffer} bytes to receive and ${sendBuffer} to send instead of ${askedBuffer}; datagrams may be lost under load: ${remedy}`;
}

/**
 * Statistics of a session as W3C `WebTransportConnectionStats` (W3C WebTransport §6.11), as far as QUIC provides them.
 */
export interface WebTransportStats {
  readonly bytesSent: number;
  readonly bytesLost: number;
  readonly bytesReceived: number;
  readonly packetsSent: number;
  readonly packetsLost: number;
  /** Number of received UDP datagrams. Each may contain several QUIC packets. */
  readonly packetsReceived: number;
  readonly smoothedRtt: number;
  readonly minRtt: number;
  readonly datagrams: DatagramStats;
}

export function webTransportStats(stats: SessionStats, datagrams: DatagramStats): WebTransportStats {
  return {
    bytesSent: stats.sentBytes,
    bytesLost: stats.lostBytes,
    bytesReceived: stats.receivedBytes,
    packetsSent: stats.sentPackets,
    packetsLost: stats.lostPackets,
    packetsReceived: stats.receivedUdpDatagrams,
    smoothedRtt: stats.rttMs,
    minRtt: stats.minRttMs,
    datagrams,
  };
}
