import { X509Certificate } from "node:crypto";
import { Datagrams } from "./datagrams.js";
import { DeferredPromise } from "./deferred.js";
import type { Engine } from "./engine.js";
import { QuicError } from "./errors.js";
import { MAX_CLOSE_REASON_BYTES, MAX_UNCLAIMED_STREAMS } from "./limits.js";
import { unwrap } from "./native.js";
import { isPortClosed } from "./port-probe.js";
import type { CloseInfo, SessionHandler, SocketAddress } from "./session-handler.js";
import { SessionWebApi } from "./session-web-api.js";
import { type SessionStats, statsFromNumbers, type WebTransportStats, webTransportStats } from "./stats.js";
import type { QuicStream } from "./stream.js";

/** A QUIC session. Use it through a handler (`attach`, `openStream`), or through the members of W3C WebTransport. */
export class QuicSession {
  #remoteAddress!: SocketAddress;
  #localAddress!: SocketAddress;
  #resumed = false;
  /** ALPN protocol that was negotiated in the TLS handshake. */
  readonly alpnProtocol: string;
  #handshake: DeferredPromise<undefined> | undefined;
  #earlyDataAccepted: boolean | undefined;
  #datagrams: Datagrams | undefined;
  /** @internal Engine of the endpoint that the session belongs to. */
  readonly engine: Engine;
  /** @internal Handle of the session in the native engine. */
  readonly handle: number;
  #draining: DeferredPromise<undefined> | undefined;
  #handler: SessionHandler | undefined;
  /** Streams that arrived before a handler was attached. Undefined if there are none. */
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

  /** Datagrams of the session: unreliable messages of up to `datagrams.maxSize` bytes. */
  get datagrams(): Datagrams {
    if (this.#datagrams === undefined) {
      this.#datagrams = new Datagrams();
      this.#datagrams.bind(this.engine, this.handle);
      if (this.#ended !== undefined) this.#datagrams.receiveClosed(this.#ended.error);
    }
    return this.#datagrams;
  }

  /**
   * Current address of the peer. It changes if a client migrates (RFC 9000 §9). After the end of the session, the last
   * address that was read.
   */
  get remoteAddress(): SocketAddress {
    this.#readInfo();
    return this.#remoteAddress;
  }

  /** Local address of the session, as far as the system reports it. */
  get localAddress(): SocketAddress {
    this.#readInfo();
    return this.#localAddress;
  }

  /** Reads the session's addresses and protocol from the native engine at once. Returns the ALPN protocol. */
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
   * Admits a session of an endpoint that listens with `admission: "manual"`. Returns false if `maxSessions` is reached;
   * the application must then close the session.
   */
  admit(): boolean {
    this.engine.kick();
    return this.engine.native.admitSession(this.handle) !== 0;
  }

  /**
   * Calls `onStream` with the first bidirectional stream that the peer opens, so that its first bytes can be inspected
   * (`QuicStream.peek`). Works before `admit`. A handler that is attached later receives the stream with all its bytes.
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

  /** Milliseconds in which the session must still be admitted, or Infinity if that is not required. */
  get remainingMs(): number {
    const remaining = this.engine.native.remainingMs(this.handle);
    return remaining < 0 ? Number.POSITIVE_INFINITY : remaining;
  }

  /**
   * Attaches the handler and starts to deliver events, beginning with those that have already arrived. Can be called
   * once per session.
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
   * Opens a bidirectional stream. If the peer's stream limit is reached, the stream waits and stores the data written
   * to it. Throws if the session has closed.
   */
  openStream(): QuicStream {
    return this.#open(false);
  }

  /**
   * Opens a unidirectional stream, which can only be written. If the peer's stream limit is reached, the stream waits
   * and stores the data written to it. Throws if the session has closed.
   */
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

  /** Closes the session at once (CONNECTION_CLOSE, RFC 9000 §10.2). Data that has not been sent is lost. */
  close(info: CloseInfo = {}): void {
    if (this.#ended !== undefined) return;
    this.engine.kick();
    this.engine.native.closeSession(this.handle, info.closeCode ?? 0, encodeReason(info.reason));
  }

  /**
   * TLS certificate of the peer. On a client, the server's certificate; on a server, the client's certificate if
   * `clientCertificates` is set. Read from the engine on first use, which must happen before the session ends.
   */
  get peerCertificate(): X509Certificate | undefined {
    if (this.#peerCertificate === undefined) {
      const der = this.engine.native.peerCertificate(this.handle);
      if (der !== undefined) this.#peerCertificate = new X509Certificate(der);
    }
    return this.#peerCertificate;
  }

  /**
   * Returns `length` bytes (at most 8,160) of TLS keying material (RFC 8446 §7.5), a secret that only both sides of the
   * connection can compute. `label` has at most 249 bytes. For a WebTransport session, the secret is specific to the
   * session (W3C WebTransport §6.4), and label and context have at most 255 bytes. Rejects before the handshake is
   * complete and after the end of the session.
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
   * Calls `onSilence` about once a second while the peer does not respond and the handler waits for it
   * (`SessionHandler.waits`). The argument is the number of consecutive PINGs without an answer. Only for sessions of a
   * client, and only one listener. `undefined` removes the listener.
   */
  watchSilence(onSilence: ((unanswered: number) => void) | undefined): void {
    this.#onSilence = onSilence;
  }

  /**
   * Returns counters and measurements of the session. After the end of the session, returns the last values that were
   * read.
   */
  stats(): SessionStats {
    const numbers = this.engine.native.sessionStats(this.handle);
    if (numbers !== undefined || this.#lastStats === undefined) this.#lastStats = statsFromNumbers(numbers);
    return this.#lastStats;
  }

  /** Returns the session's counters and measurements with their W3C names. */
  async getStats(): Promise<WebTransportStats> {
    return webTransportStats(this.stats(), this.datagrams.stats());
  }

  /** Resolves when the handshake is complete. Already resolved unless the session uses early data. */
  get ready(): Promise<undefined> {
    return this.#handshake?.promise ?? Promise.resolve(undefined);
  }

  /**
   * True while the handshake of a session with early data is in progress. It is then not yet proven who the peer is and
   * that it is present.
   */
  get early(): boolean {
    return this.#handshake !== undefined && this.#earlyDataAccepted === undefined && this.#ended === undefined;
  }

  /**
   * Whether the server accepted the early data. Undefined until `ready`, and for sessions without early data. If it was
   * rejected, its streams end with `ERR_QUIC_EARLY_DATA_REJECTED`.
   */
  get earlyDataAccepted(): boolean | undefined {
    return this.#earlyDataAccepted;
  }

  /** True if the client resumed an earlier session. The server then did not send its certificate. */
  get resumed(): boolean {
    this.#readInfo();
    return this.#resumed;
  }

  /** Resolves when either side has closed the session, and rejects when the session is lost (W3C WebTransport §6.4). */
  get closed(): Promise<CloseInfo> {
    return this.#web().closed;
  }

  /**
   * Resolves when the peer asks to finish the session (DRAIN_WEBTRANSPORT_SESSION or GOAWAY), which only HTTP/3 peers
   * do. The session continues until it is closed.
   */
  get draining(): Promise<undefined> {
    this.#draining ??= new DeferredPromise();
    return this.#draining.promise;
  }

  /** Stream of the bidirectional streams that the peer opens. Use it instead of a handler. */
  get incomingBidirectionalStreams(): ReadableStream<QuicStream> {
    return this.#web().bidirectional;
  }

  /** Stream of the unidirectional streams that the peer opens. Use it instead of a handler. */
  get incomingUnidirectionalStreams(): ReadableStream<ReadableStream<Uint8Array>> {
    return this.#web().unidirectional;
  }

  /** Opens a bidirectional stream; the W3C name of `openStream`. Streams with a higher `sendOrder` are sent first. */
  async createBidirectionalStream(options: { sendOrder?: number } = {}): Promise<QuicStream> {
    const stream = this.openStream();
    if (options.sendOrder !== undefined) stream.setPriority(options.sendOrder);
    return stream;
  }

  /** Opens a unidirectional stream and returns its writable side. Streams with a higher `sendOrder` are sent first. */
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

  /** @internal Called by the engine when the handshake of a session with early data is complete. */
  receiveReady(earlyDataAccepted: boolean): void {
    this.#earlyDataAccepted = earlyDataAccepted;
    this.#handshake?.resolve(undefined);
    this.#handler?.onReady?.(earlyDataAccepted);
  }

  /** @internal Called by the engine when the peer asks to finish the session. */
  receiveDraining(): void {
    this.#draining ??= new DeferredPromise();
    this.#draining.resolve(undefined);
  }

  /** @internal Called by the engine with a stream that the peer has opened. */
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

  /** @internal Called by the engine with a received datagram. */
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

  /** @internal Called by the engine when datagrams can be sent again. */
  receiveDatagramDrain(): void {
    this.#datagrams?.receiveDrain();
  }

  /** @internal Called by the engine with the number of consecutive PINGs without an answer. */
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

  /** Checks whether the peer's UDP port is closed. If the system reports that, the session ends. */
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

  /** @internal Called by the engine when the session has ended. */
  receiveLost(error: QuicError): void {
    if (this.#ended !== undefined) return;
    const { closeCode, reason = "" } = error;
    const info: CloseInfo = closeCode === undefined ? {} : { closeCode, reason };
    this.#ended = { info, error: cleanOr(error) };
    // Settles the W3C promises first, so that a handler that throws does not leave `closed` pending.
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

/** Returns undefined if the error is a close with code 0 by either side, otherwise the error itself. */
export function cleanOr(error: QuicError): QuicError | undefined {
  return error.closeCode === 0 ? undefined : error;
}

/** Encodes a close reason as UTF-8. Cuts it between characters to at most 1024 bytes. */
export function encodeReason(reason = ""): Uint8Array {
  const bytes = new Uint8Array(MAX_CLOSE_REASON_BYTES);
  return bytes.subarray(0, new TextEncoder().encodeInto(reason, bytes).written);
}
