import type { QuicStream } from "./stream.js";

/** Error code and reason with which a session is closed. */
export interface CloseInfo {
  /** Application error code, 0 to 2^32-1. Default 0. */
  closeCode?: number;
  /** Reason as at most 1024 bytes of UTF-8; longer text is cut. Default "". */
  reason?: string;
}

/** An IP address and UDP port. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  readonly family: "IPv4" | "IPv6";
}

/** Receives the events of one session. Passed to `QuicSession.attach`. */
export interface SessionHandler {
  /** Called when the peer has opened a bidirectional stream. */
  onStream(stream: QuicStream): void;
  /**
   * Called when the peer has opened a unidirectional stream, which can only be read. If undefined, such streams are
   * refused.
   */
  onUniStream?(stream: QuicStream): void;
  /**
   * Called when a datagram has arrived. The handler may keep `bytes`. If undefined, datagrams are available in
   * `datagrams.readable`.
   */
  onDatagram?(bytes: Uint8Array): void;
  /**
   * Called on sessions of a client if no packet has arrived for some round trips, and then at growing intervals. Return
   * true to send a PING, which checks whether the peer still responds and prevents an idle timeout. If undefined, no
   * PING is sent.
   */
  waits?(): boolean;
  /** Called when the handshake of a session with early data (`earlyData`) is complete. */
  onReady?(earlyDataAccepted: boolean): void;
  /**
   * Called once when the session has ended, after `onClosed` of all its streams. `error` is undefined if either side
   * closed the session with code 0.
   */
  onClosed(info: CloseInfo, error: Error | undefined): void;
}
