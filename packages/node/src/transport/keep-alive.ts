import type { SessionOptions } from "@quicrpc/core";
import { DEFAULT_TRANSPORT, type ListenTransportOptions, type TransportOptions } from "@quicrpc/quic";

/** Options of a QUIC connection, without the ping interval: the option `keepAlive` sets it for every transport. */
export type QuicOptions = Omit<TransportOptions, "keepAliveIntervalMs">;

/**
 * Options of a server's QUIC connections, without the ping interval and the handshake timeout: `keepAlive` and
 * `limits.maxHandshakeMs` set them for every transport.
 */
export type QuicListenOptions = Omit<ListenTransportOptions, "keepAliveIntervalMs" | "handshakeTimeoutMs">;

const { keepAliveIntervalMs: _, handshakeTimeoutMs: __, ...listening } = DEFAULT_TRANSPORT;

export const QUIC_LISTEN_OPTIONS: Readonly<Record<keyof QuicListenOptions, unknown>> = listening;

const {
  maxHandshakes: _handshakes,
  maxHandshakesPerAddress: _handshakesPerAddress,
  maxSessions: _sessions,
  maxSessionsPerAddress: _sessionsPerAddress,
  retryThreshold: _retryThreshold,
  ...connecting
} = listening;

export const QUIC_OPTIONS: Readonly<Record<keyof QuicOptions, unknown>> = connecting;

export const DEFAULT_INTERVAL_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 20_000;

/**
 * Returns the options of a QUIC connection, with the ping interval and idle timeout that `keepAlive` specifies. If
 * `keepAlive` is undefined, pings are sent every `keepAliveIntervalMs` milliseconds.
 */
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
