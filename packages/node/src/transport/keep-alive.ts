import type { SessionOptions } from "@quicrpc/core";
import type { OptionNames } from "@quicrpc/core/internal";
import type { ListenTransportOptions, TransportOptions } from "@quicrpc/quic";

/** Settings of a QUIC connection, except pings, which `keepAlive` configures for every transport. */
export type QuicOptions = Omit<TransportOptions, "keepAliveIntervalMs">;

/**
 * Settings of a server's QUIC connections, except pings and the handshake timeout, which `limits.maxHandshakeMs`
 * configures for every transport.
 */
export type QuicListenOptions = Omit<ListenTransportOptions, "keepAliveIntervalMs" | "handshakeTimeoutMs">;

/** Setting names of `QuicOptions`. */
export const QUIC_OPTIONS: OptionNames<QuicOptions> = {
  congestionControl: true,
  datagramBuffer: true,
  highWaterMark: true,
  idleTimeoutMs: true,
  initialRttMs: true,
  maxAckDelayMs: true,
  maxStreams: true,
  maxStreamsCeiling: true,
  maxUdpPayload: true,
  maxUniStreams: true,
  receiveWindow: true,
  receiveWindowCeiling: true,
  redundancy: true,
  sendWindow: true,
  streamReceiveWindow: true,
};

/** Setting names of `QuicListenOptions`. */
export const QUIC_LISTEN_OPTIONS: OptionNames<QuicListenOptions> = {
  ...QUIC_OPTIONS,
  maxHandshakes: true,
  maxHandshakesPerAddress: true,
  maxSessions: true,
  maxSessionsPerAddress: true,
  retryThreshold: true,
};

/** Returns the settings of a QUIC connection, changed according to `keepAlive` if it is set. */
export const DEFAULT_INTERVAL_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 20_000;

/** The settings of a QUIC connection with those that `keepAlive` asks for. Without it the session pings every `keepAliveIntervalMs`. */
export function withKeepAlive<Settings extends QuicListenOptions>(
  settings: Settings | undefined,
  keepAlive: SessionOptions["keepAlive"],
  keepAliveIntervalMs = 0,
): Settings & TransportOptions {
  if (keepAlive === undefined) return { ...(settings as Settings), keepAliveIntervalMs };
  if (keepAlive === false) return { ...(settings as Settings), keepAliveIntervalMs: 0 };
  const { intervalMs = DEFAULT_INTERVAL_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = keepAlive;
  return { idleTimeoutMs: intervalMs + timeoutMs, ...(settings as Settings), keepAliveIntervalMs: intervalMs };
}
