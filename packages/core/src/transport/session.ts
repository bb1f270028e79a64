import type { UnsharedBytes } from "../platform-types.js";

/**
 * Interfaces for transports. A transport implements the W3C WebTransport interface or, for speed, the direct interface.
 * A session that has `openStream` is direct; any other is used through its WHATWG streams.
 */

/** How a session ended or is to end (W3C WebTransport §6.9 `WebTransportCloseInfo`). */
export interface CloseInfo {
  /** Application error code, 0 to 2^32-1. Default 0. */
  closeCode?: number;
  /** At most 1024 bytes of UTF-8. Default "". */
  reason?: string;
}

/** The part of the W3C `WebTransport` interface that core uses (W3C WebTransport §6). */
export interface WebTransportSession extends KeyingMaterialExporter {
  readonly ready: Promise<unknown>;
  /** Fulfils when either side has closed the session; rejects if the session is lost. */
  readonly closed: Promise<CloseInfo | undefined | void>;
  close(info?: CloseInfo): void;
  createBidirectionalStream(): Promise<WebTransportStream>;
  /** Opens a stream, which stays empty: its `close` fulfils when the peer has acknowledged all data sent before it. */
  createUnidirectionalStream?(): Promise<WritableStream>;
  readonly incomingBidirectionalStreams: ReadableStream<WebTransportStream>;
  /** The session's datagrams. They are not used if the application has locked their streams. */
  readonly datagrams?: WebTransportDatagrams | undefined;
}

/**
 * Exports keying material: bytes that both peers of a TLS connection can compute, and nobody else (RFC 8446 §7.5; W3C
 * WebTransport §6.4).
 */
export interface KeyingMaterialExporter {
  /**
   * Returns `length` bytes of keying material, or rejects. Absent if there is no TLS or the platform does not expose
   * it.
   */
  exportKeyingMaterial?(
    label: UnsharedBytes,
    context: UnsharedBytes,
    length: number,
  ): Promise<ArrayBuffer | Uint8Array>;
}

/** The part of a W3C `WebTransportDatagramDuplexStream` that core uses (W3C WebTransport §5). */
export interface WebTransportDatagrams {
  readonly readable: ReadableStream<Uint8Array>;
  /** The writable stream of platforms without `createWritable`, which has replaced it in W3C WebTransport. */
  readonly writable?: WritableStream<Uint8Array>;
  createWritable?(): WritableStream<Uint8Array>;
  readonly maxDatagramSize: number;
}

/** A W3C `WebTransportBidirectionalStream`. */
export interface WebTransportStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/**
 * A session whose streams have the direct interface. All its methods and events are synchronous, on the JavaScript
 * thread.
 */
export interface DirectSession extends KeyingMaterialExporter {
  /** Starts delivery to `handler`, beginning with the events that have already happened. Called once. */
  attach(handler: DirectSessionHandler): void;
  /**
   * Opens a bidirectional stream. If the peer's stream limit is reached, the stream keeps written data until the peer
   * allows a further stream. Throws if the session has ended.
   */
  openStream(): DirectStream;
  close(info?: CloseInfo): void;
  /** Returns measurements of the connection. Absent if the transport has none. */
  stats?(): SessionStats;
  /** Unreliable messages (RFC 9221); undefined if the transport has none. */
  readonly datagrams?: Datagrams | undefined;
  /**
   * Calls `onStream` with the first stream that the peer opens, so that its first bytes can be inspected
   * (`DirectStream.peek`). The handler that is attached later receives the stream and all its bytes.
   */
  firstStream?(onStream: (stream: DirectStream) => void): void;
  /**
   * The session's only stream, if it consists of a single byte stream. All calls then share one lane, and `openStream`
   * throws.
   */
  readonly sole?: SoleStream;
}

/** Measurements of a session's connection; counters begin at 0 with the session. */
export interface SessionStats {
  /** Smoothed round-trip time in milliseconds. */
  readonly rttMs: number;
  readonly sentPackets: number;
  readonly lostPackets: number;
}

/** The sending side of a session's datagrams. */
export interface Datagrams {
  /** Maximum bytes of a datagram. It may change during the session. */
  readonly maxSize: number;
  /**
   * Sends a copy of `bytes`. Returns false if the datagram was dropped, because it is too large or too many are
   * waiting.
   */
  send(bytes: Uint8Array): boolean;
}

/**
 * The only stream of a session that consists of a single byte stream. Resetting it ends the session with the same code.
 */
export interface SoleStream extends DirectStream {
  /** True if this side opened the session and therefore sends the kind of the stream. */
  readonly opener: boolean;
  /** Called when the peer's hello has arrived, which shows that the peer speaks this protocol. */
  greeted(): void;
  /** Called when a close frame of the peer has arrived. It states how the session ends. */
  closedByPeer(info: CloseInfo): void;
  /** Called when the protocol finds that the session is lost: the peer sends no hello, or has stopped answering. */
  lose(error: Error): void;
}

/**
 * Receives the events of a direct session. A wrapper must forward each event by calling the method on the wrapped
 * handler.
 */
export interface DirectSessionHandler {
  /** Called when the peer has opened a stream. */
  onStream(stream: DirectStream): void;
  /**
   * Called when a datagram has arrived. The handler may keep its bytes. If this method is absent, the transport reads
   * no datagrams.
   */
  onDatagram?(bytes: Uint8Array): void;
  /**
   * Called if the peer has been silent for a while. Returns true if calls are waiting for it, so that the transport
   * should check whether it is still there.
   */
  waits?(): boolean;
  /**
   * Called once when the session has ended, after every stream's `onClosed`. `error` is undefined after a close with
   * code 0 by either side.
   */
  onClosed(info: CloseInfo, error: Error | undefined): void;
}

/** One bidirectional stream of a direct session. Calling a method after the stream has ended has no effect. */
export interface DirectStream {
  /**
   * Starts delivery to `handler`, beginning with the data that has already arrived. Does not call the handler before it
   * returns. Called once.
   */
  attach(handler: DirectStreamHandler): void;
  /**
   * Sends `bytes` and, if `end` is true, FIN after them. The bytes are copied or sent before it returns, so the caller
   * may reuse the buffer. Returns false if the amount of unsent data exceeds the high-water mark; the handler's
   * `onDrain` is called when it no longer does.
   */
  write(bytes: Uint8Array, end?: boolean): boolean;
  /** Returns the number of written bytes that are not sent yet. */
  pendingBytes(): number;
  /** Aborts the sending side with an application error code (RESET_STREAM, RFC 9000 §19.4). */
  reset(code: number): void;
  /** Asks the peer to stop sending (STOP_SENDING, RFC 9000 §19.5). No further data is delivered. */
  stopSending(code: number): void;
  /** Stops delivery, so that flow control stops the peer (RFC 9000 §4.1). */
  pause(): void;
  resume(): void;
  /**
   * Inspects data before `attach`: calls `look` with all bytes that have arrived, and again with more, until it returns
   * false. Then no more data is read until a handler is attached, which receives all bytes again. Calls `onOver` if the
   * stream ends first.
   */
  peek?(look: (bytes: Uint8Array) => boolean, onOver: () => void): void;
  /**
   * Sets the priority of the stream's data. If the connection is the bottleneck, streams with higher numbers are sent
   * first. Default 0.
   */
  setPriority?(priority: number): void;
}

/** Receives the events of a direct stream. No data follows `onEnd` or `onReset`. */
export interface DirectStreamHandler {
  /** Called with received bytes, in order. The handler may keep the chunk, unless its `borrows` is true. */
  onData(chunk: Uint8Array): void;
  /** True if the handler does not use a chunk after `onData` has returned, so that the stream can reuse its memory. */
  readonly borrows?: boolean;
  /** Called when the peer has ended its sending side (FIN). */
  onEnd(): void;
  /** Called when the peer has reset its sending side, with its application error code. */
  onReset(code: number): void;
  /** Called when the peer has asked this side to stop sending. Data written from now on is dropped. */
  onStopSending(code: number): void;
  /** Called when the amount of unsent data is below the high-water mark again. */
  onDrain(): void;
  /** Called as the last event if the session ends before the stream does. */
  onClosed(error: Error | undefined): void;
}

/** A session with either of the two interfaces. */
export type TransportSession = DirectSession | WebTransportSession;
