import { invalidOption } from "./errors.js";
import { SETTINGS } from "./native-layout.js";

/** Options of a session's QUIC transport. `DEFAULT_TRANSPORT` contains the defaults. */
export interface TransportOptions {
  /**
   * Milliseconds without any packet from the peer after which a session is lost (RFC 9000 §10.1). 0: never. The smaller
   * of both sides' values applies.
   */
  idleTimeoutMs?: number;
  /**
   * Milliseconds without traffic after which a PING is sent, so that the session does not reach its idle timeout. At
   * most half of the smaller of both sides' idle timeouts. 0: off.
   */
  keepAliveIntervalMs?: number;
  /**
   * Initial number of streams that the peer may have open at once (MAX_STREAMS, RFC 9000 §4.6). Each permitted stream
   * reserves memory, so the number starts low and doubles whenever the peer uses half of it.
   */
  maxStreams?: number;
  /**
   * Initial number of unidirectional streams that the peer may have open at once. The limit grows like `maxStreams`.
   */
  maxUniStreams?: number;
  /**
   * Upper bound for the growth of `maxStreams` and `maxUniStreams`. Default: 4096, or `maxStreams` if that is set,
   * which makes it fixed.
   */
  maxStreamsCeiling?: number;
  /**
   * Bytes that a peer may send on one stream before the application reads them (RFC 9000 §4.1). 0 means 4 MiB, and 1
   * MiB for a peer on this machine, so that calls do not wait behind a stream that fills the socket. The 1 MiB shrink
   * to 512 KiB while calls run at the same time as the stream. On connections within this machine with a round trip of
   * 2 ms or more, the 1 MiB grow to 4 MiB while the window is used up within two round trips. Any other value is fixed.
   */
  streamReceiveWindow?: number;
  /**
   * Initial number of bytes that a peer may send on the whole session before the application reads them. The window
   * doubles whenever it is used up within two round trips. It does not limit a fast reader on a long path, and stays
   * small for a slow reader.
   */
  receiveWindow?: number;
  /**
   * Upper bound in bytes for the growth of `receiveWindow`. Default: 24 MiB, or `receiveWindow` if that is set, which
   * makes it fixed.
   */
  receiveWindowCeiling?: number;
  /** Maximum number of bytes of a session that are sent, or about to be sent, and not yet acknowledged. */
  sendWindow?: number;
  /** Number of unsent bytes of one stream, in addition to the send window, above which `write` returns false. */
  highWaterMark?: number;
  /**
   * Round-trip time in milliseconds that is assumed before the first measurement. 0: 333 ms (RFC 9002 §6.2.2), or 50 ms
   * to this machine itself. Lower it only if the path is known.
   */
  initialRttMs?: number;
  /**
   * Milliseconds within which the peer is asked to acknowledge packets, if it supports the ACK frequency extension. If
   * the last packet of a message is lost, it is then sent again sooner. 0: the peer's own choice, usually 25 ms.
   */
  maxAckDelayMs?: number;
  /**
   * Congestion controller. "steady" is CUBIC, but treats a loss as congestion only if packets wait in a queue, or if
   * more packets are lost than chance explains. "cubic" and "newreno" slow down after each loss. "bbr" follows the
   * measured bandwidth.
   */
  congestionControl?: "steady" | "cubic" | "newreno" | "bbr";
  /**
   * Whether a few packets that are sent within one round trip are sent a second time 2 ms later, so that the loss of a
   * packet causes no delay. "afterLoss" does so if packets were lost in the last 30 s. If 0.5% of packets are lost, it
   * also repeats groups of up to 256 packets that leave half of the congestion window free. Large transfers and
   * continuous streams are never sent twice. Nothing is sent twice on paths with a round trip below 4 ms. "off" saves
   * the additional bytes.
   */
  redundancy?: "off" | "afterLoss" | "always";
  /**
   * Maximum total size in bytes of the datagrams that wait on either side: received but not delivered, or not yet sent.
   * 0: no datagrams.
   */
  datagramBuffer?: number;
  /**
   * Maximum UDP payload in bytes that path MTU discovery tries (RFC 8899). 0: 1452, or 8952 to this machine itself. Set
   * 8952 on a network that carries packets of 9,000 bytes: bulk transfers then take half the CPU time, and many small
   * messages two thirds.
   */
  maxUdpPayload?: number;
}

/** Options of the QUIC transport of a listening endpoint. */
export interface ListenTransportOptions extends TransportOptions {
  /**
   * Maximum number of concurrent sessions. Each WebTransport session counts, and one connection may carry several.
   * Further clients are refused (CONNECTION_REFUSED, status 503). In addition, the same number of connections may be
   * closing or draining (RFC 9000 §10.2).
   */
  maxSessions?: number;
  /**
   * Maximum number of sessions and handshakes of one source: an IPv4 address or an IPv6 /64. 0: no limit. From half of
   * the limit on, clients of this source must prove their address. In `serve`, this is a limit of sessions over every
   * transport; it shrinks as other sources have more sessions. Default there: three quarters of `maxSessions`.
   */
  maxSessionsPerAddress?: number;
  /**
   * Maximum number of concurrent connections without a session: handshakes in progress, HTTP/3 connections without a
   * session, and sessions that wait for admission. Further clients are refused.
   */
  maxHandshakes?: number;
  /**
   * Maximum number of unfinished handshakes of one source: an IPv4 address or an IPv6 /64. Further handshakes are
   * refused. From half of the limit on, clients of this source must prove their address (Retry). The limit shrinks as
   * other sources have more handshakes in progress. Sessions do not count. Default: a quarter of `maxHandshakes`.
   */
  maxHandshakesPerAddress?: number;
  /**
   * Milliseconds that a new connection has until its session is ready: for the TLS handshake, the WebTransport request
   * and the admission. After that, the connection is closed.
   */
  handshakeTimeoutMs?: number;
  /**
   * Number of handshakes in progress above which further clients must prove their address first, which takes one round
   * trip (Retry, RFC 9000 §8.1.2). 0: always. Default: half of `maxHandshakes`.
   */
  retryThreshold?: number;
}

/** Defaults of all transport options. Sizes are in bytes, times in milliseconds. */
export const DEFAULT_TRANSPORT: Readonly<Required<ListenTransportOptions>> = {
  idleTimeoutMs: 30_000,
  keepAliveIntervalMs: 0,
  maxStreams: 100,
  // Together with 100 bidirectional streams and a few streams of this side, 8 fit into tables with 128 entries. More
  // streams would double the size of the tables.
  maxUniStreams: 8,
  maxStreamsCeiling: 4096,
  streamReceiveWindow: 0,
  // This is 1.5 times the window of a stream (4 MiB), so that an unread stream leaves room for others.
  receiveWindow: 6 * 1024 * 1024,
  receiveWindowCeiling: 24 * 1024 * 1024,
  sendWindow: 8 * 1024 * 1024,
  highWaterMark: 256 * 1024,
  initialRttMs: 0,
  maxAckDelayMs: 1,
  congestionControl: "steady",
  redundancy: "afterLoss",
  datagramBuffer: 256 * 1024,
  maxUdpPayload: 0,
  maxSessions: 10_000,
  maxSessionsPerAddress: 0,
  maxHandshakes: 1_000,
  maxHandshakesPerAddress: 250,
  handshakeTimeoutMs: 10_000,
  retryThreshold: 500,
};

export const DEFAULT_HANDSHAKE_TIMEOUT_MS = 10_000;
/** Milliseconds after which `connect` tries a further address of the host in parallel (RFC 8305 §5). */
export const CONNECTION_ATTEMPT_DELAY_MS = 250;
/** Default maximum number of WebTransport sessions on one connection. Further requests are answered with status 429. */
export const DEFAULT_WEB_TRANSPORT_SESSIONS = 16;
/** Default maximum number of waiting datagrams in each direction of the W3C datagram streams (W3C WebTransport §5). */
export const DATAGRAM_HIGH_WATER_MARK = 128;
/**
 * Maximum number of streams of a session that the application has not read yet from the W3C members. Further streams
 * are reset.
 */
export const MAX_UNCLAIMED_STREAMS = 4096;
/** Maximum size of a close reason in bytes of UTF-8 (W3C WebTransport §6.9). */
export const MAX_CLOSE_REASON_BYTES = 1024;

/** Options with named values, and their values. The native engine receives the index of the value. */
const CHOICES = {
  congestionControl: ["cubic", "newreno", "bbr", "steady"],
  redundancy: ["off", "afterLoss", "always"],
} as const;

const RANGES: Readonly<Record<Exclude<keyof ListenTransportOptions, keyof typeof CHOICES>, readonly [number, number]>> =
  {
    idleTimeoutMs: [0, 2 ** 32],
    keepAliveIntervalMs: [0, 2 ** 32],
    maxStreams: [0, 2 ** 20],
    maxUniStreams: [0, 2 ** 20],
    maxStreamsCeiling: [0, 2 ** 20],
    streamReceiveWindow: [0, 2 ** 40],
    receiveWindow: [1024, 2 ** 40],
    receiveWindowCeiling: [1024, 2 ** 40],
    sendWindow: [1024, 2 ** 40],
    highWaterMark: [0, 2 ** 32],
    initialRttMs: [0, 60_000],
    datagramBuffer: [0, 2 ** 30],
    maxAckDelayMs: [0, 16_000],
    maxUdpPayload: [0, 65_527],
    maxSessions: [0, 2 ** 24],
    maxSessionsPerAddress: [0, 2 ** 24],
    maxHandshakes: [1, 2 ** 24],
    maxHandshakesPerAddress: [1, 2 ** 24],
    handshakeTimeoutMs: [1, 2 ** 31 - 1],
    retryThreshold: [0, 2 ** 24],
  };

/** Settings for the native engine that are not transport options. Flags are 0 or 1. */
export interface EngineSettings {
  /** Maximum number of WebTransport sessions on one HTTP/3 connection. Default 0. */
  readonly webTransportSessions?: number;
  /** 1 if JavaScript decides which sessions are admitted. Default 0. */
  readonly manualAdmission?: number;
  /** 1 if plain HTTP requests are accepted. Default 0. */
  readonly plainRequests?: number;
}

/** Returns the transport options as numbers in the order that the native engine expects. */
export function transportNumbers(
  options: ListenTransportOptions = {},
  { webTransportSessions = 0, manualAdmission = 0, plainRequests = 0 }: EngineSettings = {},
): Float64Array {
  const number = (name: keyof typeof RANGES): number => {
    const value = options[name] ?? DEFAULT_TRANSPORT[name];
    const { 0: smallest, 1: greatest } = RANGES[name];
    if (typeof value !== "number" || !(value >= smallest && value <= greatest)) {
      throw invalidOption(`transport.${name} must be a number from ${smallest} to ${greatest}, not ${String(value)}`);
    }
    return value;
  };
  /**
   * Returns the upper bound of an option that grows. If only the initial value is set, returns that value, so that the
   * option does not grow.
   */
  const ceiling = (name: keyof typeof RANGES, start: keyof typeof RANGES): number =>
    number(options[name] === undefined && options[start] !== undefined ? start : name);
  /** Returns the value of a limit, by default the given share of `maxHandshakes`. */
  const ofHandshakes = (name: keyof typeof RANGES, share: number): number =>
    options[name] === undefined ? Math.ceil(number("maxHandshakes") * share) : number(name);
  const choice = (name: keyof typeof CHOICES): number => {
    const value: string = options[name] ?? DEFAULT_TRANSPORT[name];
    const choices: readonly string[] = CHOICES[name];
    const position = choices.indexOf(value);
    if (position < 0) {
      const allowed = choices.map((option) => `"${option}"`).join(", ");
      throw invalidOption(`transport.${name} must be one of ${allowed}, not ${value}`);
    }
    return position;
  };
  const settings: Partial<Record<(typeof SETTINGS)[number], number>> = {
    maxStreamsCeiling: ceiling("maxStreamsCeiling", "maxStreams"),
    receiveWindowCeiling: ceiling("receiveWindowCeiling", "receiveWindow"),
    retryThreshold: ofHandshakes("retryThreshold", 1 / 2),
    maxHandshakesPerAddress: ofHandshakes("maxHandshakesPerAddress", 1 / 4),
    congestionControl: choice("congestionControl"),
    redundancy: choice("redundancy"),
    webTransportSessions,
    manualAdmission,
    plainRequests,
  };
  // Without iterators: each dial comes through here.
  const numbers = new Float64Array(SETTINGS.length);
  for (let at = 0; at < numbers.length; at++) {
    const name = SETTINGS[at] as (typeof SETTINGS)[number];
    numbers[at] = settings[name] ?? number(name as keyof typeof RANGES);
  }
  return numbers;
}
