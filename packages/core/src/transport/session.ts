import type { UnsharedBytes } from "../platform-types.js";

/**
 * Interfaces that a transport implements: the W3C WebTransport shape or, for speed, the direct interface. A session
 * with `openStream` is direct; any other is driven through its WHATWG streams.
 */

/** How a session ended or shall end (W3C WebTransport §6.9 `WebTransportCloseInfo`). */
export interface CloseInfo {
  /** Application error code, 0 to 2^32-1. Default 0. */
  closeCode?: number;
  /** At most 1024 bytes of UTF-8. Default "". */
  reason?: string;
}

/** The part of the W3C `WebTransport` interface that core uses (W3C WebTransport §6). */
export interface WebTransportSession extends KeyingMaterialExporter {
  readonly ready: Promise<unknown>;
  /** Fulfils on a clean close from either side, rejects when the session is lost. */
  readonly closed: Promise<CloseInfo | undefined | void>;
  close(info?: CloseInfo): void;
  createBidirectionalStream(): Promise<WebTransportStream>;
  /** Only used for empty streams, which tell when the peer has acknowledged all data sent before them. */
  createUnidirectionalStream?(): Promise<WritableStream>;
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportStream>;
  /** Used unless the application has locked it. */
  readonly datagrams?: WebTransportDatagrams | undefined;
}

/**
 * Exports keying material: bytes that both ends of a TLS connection can compute, and no third party (RFC 8446 §7.5; W3C
 * WebTransport §6.4).
 */
export interface KeyingMaterialExporter {
  /** Returns `length` bytes. Absent if there is no TLS or the platform does not expose it; it may also reject. */
  exportKeyingMaterial?(
    label: UnsharedBytes,
    context: UnsharedBytes,
    length: number,
  ): Promise<ArrayBuffer | Uint8Array>;
}

/** The part of a W3C `WebTransportDatagramDuplexStream` that core uses (W3C WebTransport §5). */
export interface WebTransportDatagrams {
  readonly readable: ReadableStream<Uint8Array>;
  /** The W3C member that `createWritable` replaced. */
  readonly writable?: WritableStream<Uint8Array>;
  createWritable?(): WritableStream<Uint8Array>;
  readonly maxDatagramSize: number;
}

/** A W3C `WebTransportBidirectionalStream`. */
export interface WebTransportStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** A session whose streams offer the direct interface. Every call is synchronous, on the JavaScript thread. */
export interface DirectSession extends KeyingMaterialExporter {
  /** Starts delivery to `handler`, beginning with the events that have already arrived. Called once. */
  attach(handler: DirectSessionHandler): void;
  /**
   * Opens a bidirectional stream. If the peer's stream limit is reached, the stream keeps written data until the peer
   * allows it. Throws if the session has closed.
   */
  openStream(): DirectStream;
  close(info?: CloseInfo): void;
  /** Measurements of the connection; absent if the transport has none. */
  stats?(): SessionStats;
  /** Unreliable messages (RFC 9221); absent or undefined if the transport has none. */
  readonly datagrams?: Datagrams | undefined;
  /**
   * Calls `onStream` with the first stream that the peer opens, for a look at its first bytes (`DirectStream.peek`). The handler
   * that is attached later receives the stream, and all its bytes.
   */
  firstStream?(onStream: (stream: DirectStream) => void): void;
  /** Present if the session is a single byte stream: all calls share one lane on it, and `openStream` throws. */
  readonly sole?: SoleStream;
}

/** Counters of a session, since its start. */
export interface SessionStats {
  /** Smoothed round-trip time in milliseconds. */
  readonly rttMs: number;
  readonly sentPackets: number;
  readonly lostPackets: number;
}

/** The sending side of a session's datagrams. */
export interface Datagrams {
  /** Bytes of the largest datagram, at this time. */
  readonly maxSize: number;
  /** Sends a copy of `bytes`. False when they were dropped at once: too many, or too much waits to be sent. */
  send(bytes: Uint8Array): boolean;
}

/** The one stream of a session that is a byte stream. Resetting it ends the session with that code. */
export interface SoleStream extends DirectStream {
  /** Whether this side opened the session, so that it states the kind of the stream. */
  readonly opener: boolean;
  /** The peer has said, in its hello, that it speaks this protocol. */
  greeted(): void;
  /** The peer has said, in a close frame, how the session ends. */
  closedByPeer(info: CloseInfo): void;
  /** The session is lost, as the protocol finds out: no hello, no sign of life. */
  lose(error: Error): void;
}

/** Receives the events of a direct session. Its members are called as methods of it: who wraps one passes them on, each by a call. */
export interface DirectSessionHandler {
  /** The peer opened a stream. */
  onStream(stream: DirectStream): void;
  /** A datagram has arrived; the bytes belong to the handler. Without it none are read. */
  onDatagram?(bytes: Uint8Array): void;
  /** Called if the peer has been silent for a while. Returns true if calls wait, so that the peer should be asked for a sign of life. */
  waits?(): boolean;
  /** The session ended; `error` is undefined after a clean close (code 0) by either side. Called once, after every stream's `onClosed`. */
  onClosed(info: CloseInfo, error: Error | undefined): void;
}

/** One bidirectional stream of a direct session. Methods after the stream's end do nothing. */
export interface DirectStream {
  /**
   * Starts delivery to `handler`, beginning with the data that has already arrived. Delivers nothing before it returns.
   * Called once.
   */
  attach(handler: DirectStreamHandler): void;
  /**
   * Sends `bytes`, and FIN after them when `end` is true. The bytes are copied or sent before it returns, so the
   * caller may reuse the buffer. Returns false above the high-water mark; `onDrain` follows once below it again.
   */
  write(bytes: Uint8Array, end?: boolean): boolean;
  /** Written bytes that wait to be sent. */
  pendingBytes(): number;
  /** Abandons the sending side (RESET_STREAM, RFC 9000 §19.4). */
  reset(code: number): void;
  /** Asks the peer to stop sending (STOP_SENDING, RFC 9000 §19.5); nothing more is delivered. */
  stopSending(code: number): void;
  /** Stops delivery, so that flow control stalls the peer (RFC 9000 §4.1). */
  pause(): void;
  resume(): void;
  /**
   * Inspects data before `attach`: calls `look` with all bytes that have arrived, and again with more, until it returns
   * false. Then the peer is held back until a handler is attached, which receives all bytes again. Calls `onOver` if
   * the stream ends first.
   */
  peek?(look: (bytes: Uint8Array) => boolean, onOver: () => void): void;
  /**
   * Sets the priority. When the connection is the bottleneck, streams with a higher number are sent first. Default 0.
   */
  setPriority?(priority: number): void;
}

/** Receives the events of a direct stream. `onEnd` or `onReset` is the last event of the receiving side. */
export interface DirectStreamHandler {
  /** Bytes in order; the chunk belongs to the handler and is never written again, unless it `borrows`. */
  onData(chunk: Uint8Array): void;
  /** True if the handler does not use a chunk after `onData` has returned, so that its memory can be reused for the next one. */
  readonly borrows?: boolean;
  /** The peer sent FIN. */
  onEnd(): void;
  /** The peer reset its sending side. */
  onReset(code: number): void;
  /** The peer asked this side to stop sending; writes are dropped from now on. */
  onStopSending(code: number): void;
  /** The send buffer is below its high-water mark again. */
  onDrain(): void;
  /** The session ended before the stream did. The last call. */
  onClosed(error: Error | undefined): void;
}

/** Either shape of session. */
export type TransportSession = DirectSession | WebTransportSession;
