import { X509Certificate } from "node:crypto";
import { Datagrams } from "./datagrams.js";
import { DeferredPromise } from "./deferred.js";
import type { Engine } from "./engine.js";
import { QuicError } from "./errors.js";
import { MAX_CLOSE_REASON_BYTES, MAX_UNCLAIMED_STREAMS } from "./limits.js";
import { unwrap } from "./native.js";
import { isPortClosed } from "./port-probe.js";
import { SessionWebApi } from "./session-web-api.js";
import { type SessionStats, statsFromNumbers, type WebTransportStats, webTransportStats } from "./stats.js";
import type { QuicStream } from "./stream.js";

/** How a session ended, or is to end. */
export interface CloseInfo {
  /** Application error code, 0 to 2^32-1. Default 0. */
  closeCode?: number;
  /** At most 1024 bytes of UTF-8; the rest is cut. Default "". */
  reason?: string;
}

/** An IP address and UDP port. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
  readonly family: "IPv4" | "IPv6";
}

/** Receives the events of one session. */
export interface SessionHandler {
  /** The peer opened a bidirectional stream. */
  onStream(stream: QuicStream): void;
  /** The peer opened a unidirectional stream, which can only be read. Without this method such streams are refused. */
  onUniStream?(stream: QuicStream): void;
  /** A datagram arrived. The handler may keep the bytes. Without this method datagrams go to `datagrams.readable`. */
  onDatagram?(bytes: Uint8Array): void;
  /**
   * Called on dialled sessions after some round trips without any packet, then at growing intervals. Return true to ask
   * the peer with a PING whether it is still there, which also prevents an idle timeout. Default: false.
   */
  waits?(): boolean;
  /** The handshake of a session with early data (`earlyData`) is complete. */
  onReady?(earlyDataAccepted: boolean): void;
  /**
   * The session ended. `error` is undefined after a clean close (code 0) by either side. Called once, after every
   * stream's `onClosed`.
   */
  onClosed(info: CloseInfo, error: Error | undefined): void;
}

/** A QUIC session. Use it through a handler (`attach`, `openStream`) or through the W3C WebTransport members. */
export class QuicSession {
  #remoteAddress!: SocketAddress;
  #localAddress!: SocketAddress;
  #resumed = false;
  /** The negotiated ALPN protocol. */
  readonly alpnProtocol: string;
  #handshake: DeferredPromise<undefined> | undefined;
  #earlyDataAccepted: boolean | undefined;
  #datagrams: Datagrams | undefined;
  /** @internal */
  readonly engine: Engine;
  /** @internal */
  readonly handle: number;
  #draining: DeferredPromise<undefined> | undefined;
  #handler: SessionHandler | undefined;
  /** Streams that arrived before a handler was attached, or undefined if there are none. */
  #early: { stream: QuicStream; unidirectional: boolean }[] | undefined;
  #onFirstStream: ((stream: QuicStream) => void) | undefined;
  #onSilence: ((unanswered: number) => void) | undefined;
  #probing = false;
  #ended: { info: CloseInfo; error: QuicError | undefined } | undefined;
  #webApi: SessionWebApi | undefined;
  #peerCertificate: X509Certificate | undefined;
  #lastStats: SessionStats | undefined;

  /** @internal */
  constructor(engine: Engine, handle: number, datagrams?: Datagrams, early = false) {
    this.engine = engine;
    this.handle = handle;
    this.#datagrams = datagrams;
    this.alpnProtocol = this.#readInfo();
    if (early) this.#handshake = new DeferredPromise();
    datagrams?.bind(engine, handle);
  }

  /** Unreliable messages of up to `datagrams.maxSize` bytes. */
  get datagrams(): Datagrams {
    if (this.#datagrams === undefined) {
      this.#datagrams = new Datagrams();
      this.#datagrams.bind(this.engine, this.handle);
      if (this.#ended !== undefined) this.#datagrams.receiveClosed(this.#ended.error);
    }
    return this.#datagrams;
  }

  /**
   * Current address of the peer, which changes if a client migrates (RFC 9000 §9). After the end of the session, the
   * last address that was read.
   */
  get remoteAddress(): SocketAddress {
    this.#readInfo();
    return this.#remoteAddress;
  }

  /** Local address, as far as the system reports it. */
  get localAddress(): SocketAddress {
    this.#readInfo();
    return this.#localAddress;
  }

  /** Reads all session data from the engine at once. Returns the ALPN protocol. */
  #readInfo(): string {
    const info = this.engine.native.sessionInfo(this.handle);
    if (info === undefined && this.#remoteAddress !== undefined) return this.alpnProtocol;
    const [remote, localHost, alpn, resumed] = info ?? [["", 0, "IPv4"] as const, undefined, "", 0];
    const [host, port, family] = remote;
    this.#remoteAddress = { host, port, family: family === "IPv6" ? "IPv6" : "IPv4" };
    this.#localAddress = this.engine.localAddress(localHost, this.#remoteAddress.family);
    this.#resumed = resumed !== 0;
    return this.engine.protocol(alpn);
  }

  /**
   * Admits the session on an endpoint that listens with `admission: "manual"`. Returns false if `maxSessions` is
   * reached; the caller must then close the session.
   */
  admit(): boolean {
    this.engine.kick();
    return this.engine.native.admitSession(this.handle) !== 0;
  }

  /**
   * Calls `onStream` with the first bidirectional stream of the peer, to look at its first bytes (`QuicStream.peek`);
   * also before `admit`. The handler that is attached later receives the stream with all its bytes.
   */
  firstStream(onStream: (stream: QuicStream) => void): void {
    const first = this.#early?.find(({ unidirectional }) => !unidirectional);
    if (first !== undefined) {
      onStream(first.stream);
      return;
    }
    this.#onFirstStream = onStream;
    this.engine.kick();
    this.engine.native.greetSession(this.handle);
  }

  /** Milliseconds left to admit the session, or Infinity if it need not be admitted. */
  get remainingMs(): number {
    const remaining = this.engine.native.remainingMs(this.handle);
    return remaining < 0 ? Number.POSITIVE_INFINITY : remaining;
  }

  /**
   * Starts delivery to `handler`, beginning with everything that has already arrived. Can be called once per session.
   */
  attach(handler: SessionHandler): void {
    if (this.#handler !== undefined) {
      throw new QuicError({ source: "usage", code: "ERR_QUIC_ATTACHED", message: "the session already has a handler" });
    }
    this.#handler = handler;
    const early = this.#early;
    this.#early = undefined;
    for (const { stream, unidirectional } of early ?? []) {
      try {
        offer(handler, stream, unidirectional);
      } catch (error) {
        this.engine.handlerFailed(error);
      }
    }
    if (this.#ended !== undefined) handler.onClosed(this.#ended.info, this.#ended.error);
  }

  /**
   * Opens a bidirectional stream. Beyond the peer's stream limit the stream waits and keeps what is written. Throws if
   * the session has closed.
   */
  openStream(): QuicStream {
    return this.#open(false);
  }

  /** Opens a unidirectional stream, which can only be written. Otherwise like `openStream`. */
  openUniStream(): QuicStream {
    return this.#open(true);
  }

  #open(unidirectional: boolean): QuicStream {
    if (this.#ended !== undefined) {
      throw (
        this.#ended.error ??
        new QuicError({ source: "session", code: "ERR_QUIC_CLOSED", message: "the session has closed" })
      );
    }
    const engine = this.engine;
    return engine.adoptStream(unwrap(engine.native.openStream(this.handle, unidirectional)));
  }

  /** Closes the session at once with CONNECTION_CLOSE (RFC 9000 §10.2). Unsent data is dropped. */
  close(info: CloseInfo = {}): void {
    if (this.#ended !== undefined) return;
    this.engine.kick();
    this.engine.native.closeSession(this.handle, info.closeCode ?? 0, encodeReason(info.reason));
  }

  /**
   * Certificate of the peer: always a server's, and a client's if `clientCertificates` requested one. It is read on
   * first use, while the session exists.
   */
  get peerCertificate(): X509Certificate | undefined {
    if (this.#peerCertificate === undefined) {
      const der = this.engine.native.peerCertificate(this.handle);
      if (der !== undefined) this.#peerCertificate = new X509Certificate(der);
    }
    return this.#peerCertificate;
  }

  /**
   * Returns `length` bytes (at most 8,160) of TLS keying material (RFC 8446 §7.5), which only the two ends of the
   * connection share. A label has at most 249 bytes. For a WebTransport session they belong to this session only (W3C
   * WebTransport §6.4), and label and context have at most 255 bytes. Rejects before the handshake is complete and
   * after the end of the session.
   */
  async exportKeyingMaterial(label: Uint8Array, context: Uint8Array, length: number): Promise<Uint8Array> {
    // The engine keeps a closed connection for a while.
    const material = this.#ended
      ? undefined
      : this.engine.native.exportKeyingMaterial(this.handle, label, context, length);
    if (material !== undefined) return new Uint8Array(material);
    const message =
      "no keying material is available: the session is not ready or has ended, or the label, context or length is invalid";
    throw new QuicError({ source: "usage", code: "ERR_QUIC_NO_KEYING_MATERIAL", message });
  }

  /**
   * Calls `onSilence` with the number of PINGs in a row that the peer has not answered, about once a second while the handler waits (`waits`) and the peer
   * is silent. Dialled sessions only; one listener. `undefined` ends that.
   */
  watchSilence(onSilence: ((unanswered: number) => void) | undefined): void {
    this.#onSilence = onSilence;
  }

  /** Returns counters and measurements. After the end of the session, the last ones that were read. */
  stats(): SessionStats {
    const numbers = this.engine.native.sessionStats(this.handle);
    if (numbers !== undefined || this.#lastStats === undefined) this.#lastStats = statsFromNumbers(numbers);
    return this.#lastStats;
  }

  /** `stats` with W3C names. */
  async getStats(): Promise<WebTransportStats> {
    return webTransportStats(this.stats(), this.datagrams.stats());
  }

  /** Fulfils when the handshake is complete, which is at once except for sessions with early data. */
  get ready(): Promise<undefined> {
    return this.#handshake?.promise ?? Promise.resolve(undefined);
  }

  /**
   * True while the handshake of a session with early data is in progress. The identity and liveness of the peer are not
   * yet proven.
   */
  get early(): boolean {
    return this.#handshake !== undefined && this.#earlyDataAccepted === undefined && this.#ended === undefined;
  }

  /**
   * Whether the server accepted the early data, or undefined until `ready` and for sessions without early data. Streams
   * of rejected early data have ended with `ERR_QUIC_EARLY_DATA_REJECTED`.
   */
  get earlyDataAccepted(): boolean | undefined {
    return this.#earlyDataAccepted;
  }

  /** True if a dialled session resumed an earlier one, in which case the server did not send its certificate. */
  get resumed(): boolean {
    this.#readInfo();
    return this.#resumed;
  }

  /** Fulfils when either side has closed the session, and rejects when the session is lost (W3C WebTransport §6.4). */
  get closed(): Promise<CloseInfo> {
    return this.#web().closed;
  }

  /**
   * Fulfils when the peer asks to finish the session (DRAIN_WEBTRANSPORT_SESSION or GOAWAY), which only peers of HTTP/3
   * do. The session continues until it is closed.
   */
  get draining(): Promise<undefined> {
    this.#draining ??= new DeferredPromise();
    return this.#draining.promise;
  }

  /** Streams opened by the peer. Use it instead of a handler. */
  get incomingBidirectionalStreams(): ReadableStream<QuicStream> {
    return this.#web().bidirectional;
  }

  /** Unidirectional streams opened by the peer. Use it instead of a handler. */
  get incomingUnidirectionalStreams(): ReadableStream<ReadableStream<Uint8Array>> {
    return this.#web().unidirectional;
  }

  /** W3C name of `openStream`. Streams with a higher `sendOrder` are sent first. */
  async createBidirectionalStream(options: { sendOrder?: number } = {}): Promise<QuicStream> {
    const stream = this.openStream();
    if (options.sendOrder !== undefined) stream.setPriority(options.sendOrder);
    return stream;
  }

  /** Returns the writable of a new unidirectional stream. */
  async createUnidirectionalStream(options: { sendOrder?: number } = {}): Promise<WritableStream<Uint8Array>> {
    const stream = this.openUniStream();
    if (options.sendOrder !== undefined) stream.setPriority(options.sendOrder);
    return stream.writable;
  }

  #web(): SessionWebApi {
    if (this.#webApi === undefined) {
      this.#webApi = new SessionWebApi(this);
      if (this.#ended !== undefined) this.#webApi.settle(this.#ended.info, this.#ended.error);
    }
    return this.#webApi;
  }

  /** @internal */
  receiveReady(earlyDataAccepted: boolean): void {
    this.#earlyDataAccepted = earlyDataAccepted;
    this.#handshake?.resolve(undefined);
    this.#handler?.onReady?.(earlyDataAccepted);
  }

  /** @internal */
  receiveDraining(): void {
    this.#draining ??= new DeferredPromise();
    this.#draining.resolve(undefined);
  }

  /** @internal */
  receiveStream(stream: QuicStream, unidirectional: boolean): void {
    if (this.#handler !== undefined) offer(this.#handler, stream, unidirectional);
    else if ((this.#early ??= []).length < MAX_UNCLAIMED_STREAMS) this.#early.push({ stream, unidirectional });
    else stream.refuse();
    if (this.#onFirstStream !== undefined && !unidirectional) {
      const onFirst = this.#onFirstStream;
      this.#onFirstStream = undefined;
      onFirst(stream);
    }
  }

  /** @internal */
  receiveDatagram(slab: ArrayBufferLike, offset: number, length: number): void {
    const bytes = new Uint8Array(slab, offset, length);
    if (this.#handler?.onDatagram === undefined) {
      // Copied: one kept datagram would keep its whole slab.
      this.datagrams.receive(bytes.slice());
      return;
    }
    this.engine.keepBatch();
    this.#handler.onDatagram(bytes);
  }

  /** @internal */
  receiveDatagramDrain(): void {
    this.#datagrams?.receiveDrain();
  }

  /** @internal */
  receiveSilence(unanswered: number): void {
    const waits = this.#ended === undefined ? this.#handler?.waits?.() : undefined;
    if (waits === false) this.engine.native.idle(this.handle);
    if (waits !== true) return;
    this.engine.kick();
    this.engine.native.ping(this.handle);
    if (unanswered === 0) return;
    this.#probePort();
    this.#onSilence?.(unanswered);
  }

  /** Probes the port: the system may report that nothing listens there any more. */
  #probePort(): void {
    if (this.#probing) return;
    this.#probing = true;
    const { host, port } = this.remoteAddress;
    void isPortClosed(host, port).then((closed) => {
      this.#probing = false;
      if (!closed || this.#ended !== undefined) return;
      this.engine.kick();
      this.engine.native.portUnreachable(this.handle);
    });
  }

  /** @internal */
  receiveLost(error: QuicError): void {
    if (this.#ended !== undefined) return;
    const { closeCode, reason = "" } = error;
    const info: CloseInfo = closeCode === undefined ? {} : { closeCode, reason };
    this.#ended = { info, error: cleanOr(error) };
    // The W3C interface first: a handler that throws must not leave `closed` pending.
    this.#webApi?.settle(info, error);
    this.#handshake?.reject(error);
    this.#datagrams?.receiveClosed(this.#ended.error);
    this.#handler?.onClosed(info, this.#ended.error);
  }
}

function offer(handler: SessionHandler, stream: QuicStream, unidirectional: boolean): void {
  if (!unidirectional) handler.onStream(stream);
  else if (handler.onUniStream !== undefined) handler.onUniStream(stream);
  else stream.refuse();
}

/** Returns undefined for a close with code 0 by either side, which is not an error. */
export function cleanOr(error: QuicError): QuicError | undefined {
  return error.closeCode === 0 ? undefined : error;
}

/** Encodes a reason as at most 1024 bytes of UTF-8, cut between characters. */
export function encodeReason(reason = ""): Uint8Array {
  const bytes = new Uint8Array(MAX_CLOSE_REASON_BYTES);
  return bytes.subarray(0, new TextEncoder().encodeInto(reason, bytes).written);
}
